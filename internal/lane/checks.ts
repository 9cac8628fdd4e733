import type { Check } from './model.ts';

/** Collects what one step looked at. A check that fails does not end the step: what follows is worth knowing as well. */
export interface Checks {
  /** Notes whether something is as it should be, with what was found. */
  that(what: string, ok: boolean, found: string): void;
  /** Notes something that was measured and is not judged. */
  figure(name: string, value: string | number): void;
  readonly list: readonly Check[];
  readonly figures: Readonly<Record<string, string | number>>;
}

/** An empty list; `onCheck` sees every check as it is noted. */
export function createChecks(onCheck: (check: Check) => void = () => undefined): Checks {
  const list: Check[] = [];
  const figures: Record<string, string | number> = {};
  return {
    that(what, ok, found) {
      const check = { what, ok, found };
      list.push(check);
      onCheck(check);
    },
    figure(name, value) {
      figures[name] = value;
    },
    list,
    figures,
  };
}

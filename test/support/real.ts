import { describe, it } from 'vitest';
import { missingTools } from '../tools/tools.ts';

/** What a suite on real components needs beyond Node. */
export interface RealNeeds {
  /** Names of programs in `test/tools/parts.ts`. */
  readonly tools?: readonly string[];
  readonly root?: boolean;
  readonly linux?: boolean;
}

/** What is not there of what is needed, one sentence each; sorted as they are asked. */
export function unmetNeeds(needs: RealNeeds): string[] {
  const unmet: string[] = [];
  if (needs.linux && process.platform !== 'linux') unmet.push(`needs Linux, this is ${process.platform}`);
  if (needs.root && process.getuid?.() !== 0) unmet.push('needs root');
  for (const { name, reason } of missingTools(needs.tools ?? [])) unmet.push(`needs ${name}: ${reason}`);
  return unmet;
}

/**
 * A suite on real components. Where something is missing its tests are reported
 * as skipped, with the reason in the name; in continuous integration that is a failure.
 */
export function describeReal(name: string, needs: RealNeeds, suite: () => void): void {
  const unmet = unmetNeeds(needs);
  if (unmet.length === 0) {
    describe(name, suite);
  } else if (process.env.CI === 'true') {
    describe(name, () => {
      it('has what it needs', () => {
        throw new Error(unmet.join('\n'));
      });
    });
  } else {
    describe.skipIf(true)(`${name} [skipped: ${unmet.join('; ')}]`, suite);
  }
}

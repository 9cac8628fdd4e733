import { type Fault, outcomesOf } from './faults.ts';

/** Every single fault over the calls of a run without any. */
export function singleFaults(calls: readonly string[]): Fault[][] {
  return calls.flatMap((call, at) => outcomesOf(call).map((outcome) => [{ at, outcome }]));
}

/** Crashes during the recovery from a crash: the first call after it, before and after; and a crash right after silence. */
export function recoveryFaults(calls: readonly string[]): Fault[][] {
  // After a crash at the very end there is nothing left to recover.
  return calls.slice(0, -2).flatMap((call, at): Fault[][] => {
    const crashes: Fault[][] = (['crash-before', 'crash-after'] as const).flatMap((first) =>
      (['crash-before', 'crash-after'] as const).map((second) => [
        { at, outcome: first },
        { at: at + 1, outcome: second },
      ]),
    );
    if (call.startsWith('store ')) return crashes;
    const silences: Fault[][] = (['late', 'lost', 'dropped'] as const).map((first) => [
      { at, outcome: first },
      { at: at + 1, outcome: 'crash-after' },
    ]);
    return [...crashes, ...silences];
  });
}

/** Two faults at two of the given calls, for the calls of a roll. */
export function pairsOfFaults(calls: readonly string[], isMeant: (call: string) => boolean): Fault[][] {
  const meant = [...calls.entries()].filter(([, call]) => isMeant(call));
  return meant.flatMap(([first, call], index) =>
    meant.slice(index + 1).flatMap(([second, other]) =>
      outcomesOf(call).flatMap((a) =>
        outcomesOf(other).map((b): Fault[] => [
          { at: first, outcome: a },
          { at: second, outcome: b },
        ]),
      ),
    ),
  );
}

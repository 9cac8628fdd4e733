import type { Sight } from './observer.ts';
import type { Facts, RecordedStep, WatchedRecording } from './recording.ts';
import { isMoving, type TrailStep } from './trail.ts';

/** What was seen of the machines, put to the effects that it followed from. */
export type Told = Pick<WatchedRecording, 'before' | 'beforehand' | 'steps'>;

/**
 * What moved between two sights of a machine is counted to the last effect that
 * was begun on it by then: the engine proves each on its machine before the next
 * one. Facts of an effect are those of the last sight that was over before the
 * next effect on that machine was begun.
 *
 * @throws Error where an effect has no sight of its own: nobody can tell then what followed from it
 */
export function tell(steps: readonly TrailStep[], sights: ReadonlyMap<string, readonly Sight[]>): Told {
  const windows = new Map<TrailStep, Pick<RecordedStep, 'moved' | 'became'>>();
  const before: Record<string, Facts> = {};
  const beforehand: Record<string, string[]> = {};
  for (const [machine, seen] of sights) {
    const moving = steps.filter((step) => step.machine === machine && isMoving(step));
    const starts = [Number.NEGATIVE_INFINITY, ...moving.map(({ begunAt }) => begunAt)];
    let facts: Facts = {};
    for (const [index, start] of starts.entries()) {
      const next = starts[index + 1] ?? Number.POSITIVE_INFINITY;
      const names = namesOf(seen.filter(({ until }) => until >= start && until < next));
      const last = seen.findLast(({ from, until }) => from >= start && until < next);
      const step = moving[index - 1];
      if (last === undefined) {
        const what = step === undefined ? 'the first effect' : `${step.effect} in ${step.stage} and the next effect`;
        throw new Error(`${machine} was not seen between ${what}: the recording would have a gap`);
      }
      if (step === undefined) {
        before[machine] = last.facts;
        if (names.length > 0) beforehand[machine] = names;
      } else windows.set(step, { moved: names, became: difference(facts, last.facts) });
      facts = last.facts;
    }
  }
  return {
    before,
    beforehand,
    steps: steps.map((step) => {
      const { begunAt: _, ...told } = step;
      return { ...told, ...windows.get(step) };
    }),
  };
}

/** Everything that moved, each once; after a boot, the boot alone. */
function namesOf(seen: readonly Sight[]): string[] {
  const names = new Set(seen.flatMap((sight) => sight.moved));
  return names.has('boot') ? ['boot'] : [...names].sort();
}

function difference(before: Facts, after: Facts): Facts {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => before[name] !== value));
}

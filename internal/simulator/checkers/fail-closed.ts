import type { Checker, Moment } from '../run.ts';

/** S23: what cannot be read, or is not what was written, is never acted on: nothing goes to a machine while it is so. */
export function failClosed(): Checker {
  let calls = 0;
  let damagedAt: number | undefined;
  return {
    property: 'S23 fail closed',
    check(moment) {
      const { world, faults, store } = moment;
      if (!store.isDamaged) {
        damagedAt = undefined;
        return undefined;
      }
      // What was under way at that moment was decided before it.
      if (damagedAt === undefined) {
        damagedAt = world.clock.monotonic();
        calls = faults.calls.length;
      }
      return toMachine(moment, calls);
    },
  };
}

function toMachine({ faults }: Moment, since: number): string | undefined {
  const call = faults.calls
    .slice(since)
    .find((each) => each.startsWith('ApplyConfiguration') || each.startsWith('Reboot'));
  return call === undefined ? undefined : `${call} was sent although what the store holds is damaged`;
}

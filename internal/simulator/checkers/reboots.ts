import type { AskedReboot } from '../call-log.ts';
import type { Moment } from '../run.ts';

/** Tells each reboot that a program of ours asks for, at the moment of the request and at that of its beginning. */
export interface RebootWatch {
  /** What `ask` finds at a request, or `begin` where the machine begins it. */
  look(moment: Moment): string | undefined;
}

/** Both are asked in the order in which it happened; the first that finds something decides. */
export function watchReboots(on: {
  readonly asked: (moment: Moment, reboot: AskedReboot) => string | undefined;
  readonly begun: (moment: Moment, reboot: AskedReboot) => string | undefined;
}): RebootWatch {
  let seen = 0;
  let pending: AskedReboot[] = [];
  return {
    look(moment) {
      const { reboots } = moment.faults.log;
      const fresh = reboots.slice(seen);
      if (fresh.length === 0 && pending.length === 0) return undefined;
      seen = reboots.length;
      pending = [...pending, ...fresh];
      const begun = pending.filter(({ begunAt }) => begunAt !== undefined);
      pending = pending.filter(({ begunAt }) => begunAt === undefined);
      for (const reboot of fresh) {
        // Looked at a moment later, after something that could not be known when it was asked for.
        if (hasHappenedSince(moment, reboot)) continue;
        const why = on.asked(moment, reboot);
        if (why !== undefined) return why;
      }
      for (const reboot of begun) {
        const why = on.begun(moment, reboot);
        if (why !== undefined) return why;
      }
      return undefined;
    },
  };
}

function hasHappenedSince({ scenario, world }: Moment, { askedAt }: AskedReboot): boolean {
  const now = world.clock.monotonic();
  return (scenario.happenings ?? []).some(({ at }) => at > askedAt && at <= now);
}

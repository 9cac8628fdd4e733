import type { Checker } from '../run.ts';
import { isApiServerReady } from '../transitions.ts';
import { ELECTION_MS, mayHaveLostQuorum, othersOf } from './others.ts';

/** S2: with three control planes or more, one API server is ready at every instant. */
export function apiAvailable(): Checker {
  let since: number | undefined;
  return {
    property: 'S2 an API server answers',
    check(moment) {
      const { world } = moment;
      const planes = world.planes();
      const isAny = planes.length < 3 || planes.some((machine) => isApiServerReady(world, machine));
      since = isAny ? undefined : (since ?? world.clock.monotonic());
      if (since === undefined) return undefined;
      const others = othersOf(moment);
      // An API server that is left needs another etcd to lead, where somebody took the leader away.
      const isElecting = others.away.size > 0 && world.clock.monotonic() - since <= ELECTION_MS;
      if (isElecting || mayHaveLostQuorum(moment, others)) return undefined;
      return `none of ${planes.length} API servers is ready`;
    },
  };
}

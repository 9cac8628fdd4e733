import type { Checker } from '../run.ts';
import { isApiServerReady } from '../transitions.ts';
import { isDisturbed } from './material.ts';

/** S2: with three control planes or more, one API server is ready at every instant. */
export function apiAvailable(): Checker {
  return {
    property: 'S2 an API server answers',
    check(moment) {
      const planes = moment.world.planes();
      if (planes.length < 3 || isDisturbed(moment)) return undefined;
      const isAny = planes.some((machine) => isApiServerReady(moment.world, machine));
      return isAny ? undefined : `none of ${planes.length} API servers is ready`;
    },
  };
}

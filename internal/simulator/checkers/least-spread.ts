import type { Checker } from '../run.ts';

/** S18: no worker is ever given the key of a CA. */
export function leastSpread(): Checker {
  return {
    property: 'S18 least spread',
    check({ world }) {
      const machine = world
        .machines()
        .find(({ role, view }) => role === 'worker' && (view.talos.hasKey || view.kubernetes.hasKey));
      return machine === undefined ? undefined : `${machine.name} is a worker and holds the key of a CA`;
    },
  };
}

import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import type { SimMachine } from '../machine.ts';
import { type Material, prints } from '../material.ts';
import type { Checker } from '../run.ts';
import { acceptedBy, pairOf } from './material.ts';

/** S6: nobody ever trusts a CA that is neither the old nor the new one, and at the end only the one that stands in the bundle. */
export function noOrphanAnchor(): Checker {
  /** What each machine had when it was asked last, and had no stranger in it. */
  const sound = new WeakMap<SimMachine, Material>();
  return {
    property: 'S6 no orphan anchor',
    check(moment) {
      for (const machine of moment.world.machines()) {
        if (sound.get(machine) === machine.taken) continue;
        for (const target of CA_TARGETS) {
          const pair = pairOf(moment, target);
          const stranger = acceptedBy(machine, target)?.find((each) => each !== pair.old && each !== pair.new);
          if (stranger !== undefined) return `${machine.name} accepts a ${target} CA that nobody made`;
        }
        sound.set(machine, machine.taken);
      }
      return undefined;
    },
    end(moment) {
      const { world, operation, scenario } = moment;
      if (operation?.status.stage !== 'Done') return undefined;
      for (const machine of world.machines()) {
        for (const target of CA_TARGETS) {
          const pair = pairOf(moment, target);
          const wanted = scenario.targets.includes(target) ? pair.new : pair.old;
          const accepted = acceptedBy(machine, target);
          if (accepted !== undefined && (accepted.length !== 1 || accepted[0] !== wanted)) {
            return `${machine.name} accepts ${accepted.length} ${target} CAs at the end`;
          }
        }
      }
      const map = world.kubernetes.authentication;
      const aggregator = scenario.targets.includes('kubernetes-aggregator');
      const old = pairOf(moment, 'kubernetes-aggregator').old;
      if (aggregator && map !== undefined && prints(map.requestheader).includes(old)) {
        return 'extension-apiserver-authentication still holds the old aggregator CA at the end';
      }
      return undefined;
    },
  };
}

import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import type { Checker } from '../run.ts';
import { acceptedBy, isDisturbed, keysHeld, pairOf } from './material.ts';

/** S4: no machine trusts a CA whose key is not stored, and the old key is kept until the rotation is done. */
export function keysDurable(): Checker {
  return {
    property: 'S4 key durability',
    check(moment) {
      const { world, store, operation } = moment;
      // Somebody took it away: nothing that we do brings it back.
      if (store.isDamaged) return undefined;
      const held = keysHeld(moment);
      // Machines that were away when a rotation was abandoned were given up by name.
      const isGivenUp = operation === undefined && isDisturbed(moment);
      const isOver = operation === undefined || operation.status.stage === 'Done';
      for (const target of CA_TARGETS) {
        const pair = pairOf(moment, target);
        const isKept = held.bundle[target] === pair.new || held.record.has(target);
        const trusting =
          isKept || isGivenUp
            ? undefined
            : world.machines().find((machine) => acceptedBy(machine, target)?.includes(pair.new) === true);
        if (trusting !== undefined) return `${trusting.name} trusts a ${target} CA whose key is stored nowhere`;
        const holdsOld = held.bundle[target] === pair.old || held.previous?.[target] === pair.old;
        if (!isOver && !holdsOld) return `the key of the old ${target} CA is gone before the rotation is done`;
      }
      return undefined;
    },
  };
}

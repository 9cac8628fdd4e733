import { CA_TARGETS, type CaTarget } from '../../../api/v1alpha1/index.ts';
import type { Checker, Moment } from '../run.ts';
import { watchGivenUp } from './given-up.ts';
import { acceptedBy, issuerOf, keysHeld, pairOf } from './material.ts';

/** S4: no machine issues with or trusts a CA whose key is not stored, and the old key is kept until the rotation is done. */
export function keysDurable(): Checker {
  const givenUp = watchGivenUp();
  return {
    property: 'S4 key durability',
    check(moment) {
      const { store, operation } = moment;
      const excused = givenUp.look(moment);
      // Somebody took it away: nothing that we do brings it back.
      if (store.isDamaged) return undefined;
      const held = keysHeld(moment);
      const isOver = operation === undefined || operation.status.stage === 'Done';
      for (const target of CA_TARGETS) {
        const pair = pairOf(moment, target);
        const isKept = held.bundle[target] === pair.new || held.record.has(target);
        const why = isKept ? undefined : relying(moment, target, excused);
        if (why !== undefined) return `${why} whose key is stored nowhere`;
        const holdsOld = held.bundle[target] === pair.old || held.previous?.[target] === pair.old;
        if (!isOver && !holdsOld) return `the key of the old ${target} CA is gone before the rotation is done`;
      }
      return undefined;
    },
  };
}

function relying(moment: Moment, target: CaTarget, excused: ReadonlySet<string>): string | undefined {
  const next = pairOf(moment, target).new;
  for (const machine of moment.world.machines()) {
    if (issuerOf(machine, target) === next) return `${machine.name} shows a leaf of a ${target} CA`;
    if (acceptedBy(machine, target)?.includes(next) !== true || excused.has(machine.name)) continue;
    return `${machine.name} trusts a ${target} CA`;
  }
  return undefined;
}

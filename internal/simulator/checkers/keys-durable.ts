import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import { caOf } from '../../../pkg/bundle/index.ts';
import type { Checker, Moment } from '../run.ts';
import { acceptedBy, isDisturbed, pairOf } from './material.ts';

/** S4: no machine trusts a CA whose key is not stored, and the old key is kept until the rotation is done. */
export function keysDurable(): Checker {
  return {
    property: 'S4 key durability',
    check(moment) {
      const { world, store, operation } = moment;
      // Somebody took it away: nothing that we do brings it back.
      if (store.isDamaged) return undefined;
      for (const target of CA_TARGETS) {
        const pair = pairOf(moment, target);
        const isKept = isStored(moment, target, 1);
        const trusting = world.machines().find((machine) => acceptedBy(machine, target)?.includes(pair.new) === true);
        // Machines that were away when a rotation was abandoned were given up by name.
        const isGivenUp = operation === undefined && isDisturbed(moment);
        if (trusting !== undefined && !isKept && !isGivenUp) {
          return `${trusting.name} trusts a ${target} CA whose key is stored nowhere`;
        }
        const isOver = operation === undefined || operation.status.stage === 'Done';
        const holdsOld = [store.document.bundle, store.previous].some(
          (bundle) => bundle !== undefined && caOf(bundle, target).certificate.fingerprint === pair.old,
        );
        if (!isOver && !holdsOld) return `the key of the old ${target} CA is gone before the rotation is done`;
      }
      return undefined;
    },
  };
}

function isStored({ world, store }: Moment, target: (typeof CA_TARGETS)[number], generation: number): boolean {
  const ca = world.mint.ca(target, generation);
  if (caOf(store.document.bundle, target).certificate.fingerprint === ca.certificate.fingerprint) return true;
  return store.record?.includes(Buffer.from(ca.key.expose()).toString('base64')) === true;
}

import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import { caOf } from '../../../pkg/bundle/index.ts';
import type { Checker } from '../run.ts';
import { issuerOf, pairOf } from './material.ts';

/** S21: an operation that is deleted leaves a cluster that works, with the keys of everything that still issues. */
export function deletionSafe(): Checker {
  return {
    property: 'S21 deletion safe',
    end(moment) {
      const { operation, store, world } = moment;
      if (operation !== undefined) return undefined;
      if (store.record !== undefined) return 'the record of a deleted operation is still there';
      const cordoned = world.machines().find((machine) => machine.node?.unschedulable === true);
      if (cordoned !== undefined) return `${cordoned.name} was left cordoned`;
      for (const machine of world.machines()) {
        for (const target of CA_TARGETS) {
          const issuer = issuerOf(machine, target);
          const held = caOf(store.document.bundle, target).certificate.fingerprint;
          const isIssuing = issuer === pairOf(moment, target).new && held !== issuer;
          if (isIssuing && target !== 'talos' && target !== 'kubernetes-aggregator') {
            return `${machine.name} issues with a ${target} CA whose key is stored nowhere any more`;
          }
        }
      }
      return undefined;
    },
  };
}

import { CA_TARGETS, type CaTarget } from '../../../api/v1alpha1/index.ts';
import { caOf } from '../../../pkg/bundle/index.ts';
import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { acceptedBy, isDisturbed, issuerOf, pairOf } from './material.ts';

/** S21: an operation that is deleted leaves a cluster that works, on the CAs whose keys are stored. */
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
          const why = leftOn(moment, machine, target);
          if (why !== undefined) return why;
        }
      }
      return undefined;
    },
  };
}

function leftOn(moment: Moment, machine: SimMachine, target: CaTarget): string | undefined {
  const pair = pairOf(moment, target);
  const held = caOf(moment.store.document.bundle, target).certificate.fingerprint;
  // A machine that was away may have been given up, by name.
  if (held !== pair.old || isDisturbed(moment)) return undefined;
  if (issuerOf(machine, target) === pair.new) {
    return `${machine.name} issues with a ${target} CA whose key is stored nowhere any more`;
  }
  if (acceptedBy(machine, target)?.includes(pair.new) !== true) return undefined;
  return `${machine.name} still accepts the new ${target} CA of a rotation that was abandoned`;
}

import { CA_TARGETS, type CaTarget, type TalosOperation } from '../../../api/v1alpha1/index.ts';
import { caOf } from '../../../pkg/bundle/index.ts';
import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { watchGivenUp } from './given-up.ts';
import { acceptedBy, issuerOf, pairOf } from './material.ts';

/** S21: an operation that is deleted leaves a cluster that works, on the CAs whose keys are stored. */
export function deletionSafe(): Checker {
  const givenUp = watchGivenUp();
  let last: TalosOperation | undefined;
  return {
    property: 'S21 deletion safe',
    check(moment) {
      givenUp.look(moment);
      last = moment.operation ?? last;
      return undefined;
    },
    end(moment) {
      const { operation, store, world, scenario } = moment;
      if (operation !== undefined) return undefined;
      if (isOfAnother(store.record, last)) return undefined;
      // Somebody who took it away may have put it back when all was over.
      const isTaken = (scenario.happenings ?? []).some((each) => each.what === 'damage' && each.to === 'gone');
      if (store.record !== undefined && !isTaken) return 'the record of a deleted operation is still there';
      const cordoned = world.machines().find((machine) => machine.node?.unschedulable === true);
      if (cordoned !== undefined) return `${cordoned.name} was left cordoned`;
      const excused = givenUp.look(moment);
      for (const machine of world.machines()) {
        for (const target of CA_TARGETS) {
          const why = leftOn(moment, machine, { target, isGivenUp: excused.has(machine.name) });
          if (why !== undefined) return why;
        }
      }
      return undefined;
    },
  };
}

/** Whether the record is of an operation before the one that was deleted, which had not gone on with it: all that one did stays where it is. */
function isOfAnother(record: string | undefined, deleted: TalosOperation | undefined): boolean {
  return record !== undefined && deleted?.status.stage === 'Pending' && !record.includes(deleted.metadata.uid);
}

function leftOn(
  moment: Moment,
  machine: SimMachine,
  { target, isGivenUp }: { readonly target: CaTarget; readonly isGivenUp: boolean },
): string | undefined {
  const pair = pairOf(moment, target);
  const held = caOf(moment.store.document.bundle, target).certificate.fingerprint;
  if (held !== pair.old) return undefined;
  if (issuerOf(machine, target) === pair.new) {
    return `${machine.name} issues with a ${target} CA whose key is stored nowhere any more`;
  }
  if (isGivenUp || acceptedBy(machine, target)?.includes(pair.new) !== true) return undefined;
  return `${machine.name} still accepts the new ${target} CA of a rotation that was abandoned`;
}

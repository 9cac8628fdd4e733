import type { CaStage } from '../../../api/v1alpha1/index.ts';
import { WORLD_START } from '../mint.ts';
import type { Checker, Moment } from '../run.ts';
import { isFrozen, registered } from './material.ts';

/** Readings that the proofs of a stage are made of, over the machine's own API. */
const PROOFS = ['Get BootIDs', 'Get MachineConfigs', 'ServiceList', 'Get KubeletSecrets.secrets.talos.dev'];

/** A look takes no virtual time: whatever it goes by was read at this very moment. */
export function evidenceFresh(): Checker {
  let stage: CaStage = 'Pending';
  let uid: string | undefined;
  return {
    property: 'S9 evidence',
    check(moment) {
      const { operation } = moment;
      if (operation === undefined) return undefined;
      if (operation.metadata.uid !== uid) stage = 'Pending';
      uid = operation.metadata.uid;
      const now = operation.status.stage;
      if (now === stage) return undefined;
      const from = stage;
      stage = now;
      // Frozen between its look and the write that follows, nothing can tell a process how long that was.
      return isFrozen(moment) || hasJumped(moment) ? undefined : unread(moment, from);
    },
  };
}

/** Nothing is entered on what was known from before: every machine was read in the boot that it is in. */
function unread({ world, faults, operation }: Moment, from: CaStage): string | undefined {
  const at = enteredAt(operation);
  for (const machine of registered(world)) {
    const reads = faults.log.reads.get(machine.name);
    for (const call of PROOFS) {
      const read = reads?.get(call);
      // Read again since, it was not read less before.
      const isFresh = read !== undefined && read.at >= at && read.bootId === machine.bootId;
      if (!isFresh) return `${from} was left for ${operation?.status.stage} without ${call} of ${machine.name} now`;
    }
  }
  return undefined;
}

/** The times of the status are not those of the world any more. */
function hasJumped({ scenario }: Moment): boolean {
  return (scenario.happenings ?? []).some(({ what }) => what === 'clock');
}

/** When the stage was decided, in virtual time: the write may be seen later, by the next process at the latest. */
function enteredAt(operation: Moment['operation']): number {
  const { completedAt, caRotation } = operation?.status ?? {};
  return Date.parse(completedAt ?? caRotation?.stageStartedAt ?? '') - WORLD_START;
}

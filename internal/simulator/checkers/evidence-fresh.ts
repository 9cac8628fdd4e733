import type { CaStage } from '../../../api/v1alpha1/index.ts';
import type { Checker, Moment } from '../run.ts';
import { registered } from './material.ts';

/** Readings that the proofs of a stage are made of, over the machine's own API. */
const PROOFS = ['Get BootIDs', 'Get MachineConfigs', 'ServiceList', 'Get KubeletSecrets.secrets.talos.dev'];

/** A look takes no virtual time: whatever it goes by was read at the moment at which the stage is written. */
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
      // Pending proves nothing of machines: what the preflight saw is asked again before anybody is told.
      return from === 'Pending' ? undefined : unread(moment, from);
    },
  };
}

/** Nothing is entered on what was known from before: every machine was read in the boot that it is in. */
function unread(moment: Moment, from: CaStage): string | undefined {
  const { world, faults, operation } = moment;
  const stage = operation?.status.stage ?? from;
  const at = faults.log.entered.get(stage) ?? Number.POSITIVE_INFINITY;
  const isFrozen = isFrozenWrite(moment);
  for (const machine of registered(world)) {
    const reads = faults.log.reads.get(machine.name);
    // Whoever came while the process was frozen was not there to be read.
    if (isFrozen && reads === undefined) continue;
    for (const call of PROOFS) {
      const read = reads?.get(call);
      // Read again since, it was not read less before.
      const isFresh = read !== undefined && read.at >= at && (isFrozen || read.bootId === machine.bootId);
      if (!isFresh) return `${from} was left for ${stage} without ${call} of ${machine.name} now`;
    }
  }
  return undefined;
}

/** Whether its process was frozen with this very write in hand: machines may be in another boot by the time that it is made. */
function isFrozenWrite({ faults }: Moment): boolean {
  const last = faults.calls.lastIndexOf('store status');
  return faults.fired.some(({ at, outcome }) => outcome === 'pause' && at === last);
}

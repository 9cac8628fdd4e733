import { type CaStage, ROTATION_FINALIZER } from '../../../api/v1alpha1/index.ts';
import type { Moment, SimMachine } from '../../../internal/simulator/index.ts';
import { minorOf, viewOf } from '../../../internal/simulator/machine.ts';
import { type EtcdMaterial, materialOf } from '../../../internal/simulator/material.ts';
import { caOf } from '../../../pkg/bundle/index.ts';
import type { Certificate, Fingerprint } from '../../../pkg/pki/index.ts';
import { CORDON, configOf, type Machine, NOBODY, NOTE, PHASE, POOL, STAGE, type Status, TOLD } from './state.ts';

/** What can be seen of a machine of the world in the terms of the model; what is under way, and who is to blame, cannot. */
export type SeenMachine = Pick<Machine, 'config' | 'took' | 'pool' | 'apiPool' | 'phase' | 'told' | 'cordon' | 'note'>;

/** A simulated world and its store in the terms of the model. */
export interface Seen extends Status {
  readonly machines: readonly SeenMachine[];
}

/** Looks at a world; undefined once the operation is gone. */
export function see(moment: Moment): Seen | undefined {
  const { world, store, operation } = moment;
  if (operation === undefined) return undefined;
  const { stage, caRotation } = operation.status;
  const planes = world.planes();
  const print = (generation: number): Fingerprint => world.mint.ca('etcd', generation).certificate.fingerprint;
  const pair: Pair = { old: print(0), new: print(1) };
  const indexOf = (name: string | undefined): number => {
    const index = planes.findIndex((machine) => machine.name === name);
    return index < 0 ? NOBODY : index;
  };
  const marker = indexOf(caRotation.etcdRebooting);
  return {
    stage: STAGE[stage],
    stored: store.record !== undefined,
    replaced: caOf(store.document.bundle, 'etcd').certificate.fingerprint === pair.new,
    released: !operation.metadata.finalizers.includes(ROTATION_FINALIZER),
    marker,
    markerHere: marker !== NOBODY && planes[marker]?.bootId === caRotation.etcdRebootBootID,
    draining: indexOf(caRotation.etcdDraining),
    forfeited: indexOf(caRotation.etcdForfeited),
    machines: planes.map((machine) => ({
      ...seeProcesses(moment, machine, pair),
      cordon: cordonOf(moment, machine),
      told: toldOf(moment, machine, stage),
      note: noteOf(moment, machine),
    })),
  };
}

interface Pair {
  readonly old: Fingerprint;
  readonly new: Fingerprint;
}

function seeProcesses(moment: Moment, machine: SimMachine, pair: Pair): Omit<SeenMachine, 'cordon' | 'told' | 'note'> {
  const phase = phaseOf(moment, machine);
  // The next boot begins with what is stored.
  const stored = machine.isUp ? machine.config : machine.persistent;
  const config = stageOf(materialOf(viewOf(stored, machine.name), minorOf(machine)).etcd, pair);
  const hasEtcd = runsEtcd(phase);
  const hasApi = runsApiServer(phase);
  const { plane } = machine;
  return {
    phase,
    config,
    took: machine.isUp ? stageOf(machine.taken.etcd, pair) : config,
    pool: hasEtcd ? poolOf(plane?.etcd.pool ?? [], pair) : POOL.none,
    apiPool: hasApi ? poolOf(plane?.apiServer.etcdPool ?? [], pair) : POOL.none,
  };
}

function runsEtcd(phase: Machine['phase']): boolean {
  return phase === PHASE.podsDown || (runsApiServer(phase) && phase !== PHASE.etcdDown);
}

function runsApiServer(phase: Machine['phase']): boolean {
  return phase === PHASE.serving || phase === PHASE.due || phase === PHASE.starting || phase === PHASE.etcdDown;
}

function phaseOf({ world }: Moment, machine: SimMachine): Machine['phase'] {
  const { plane, kubelet, node } = machine;
  if (!machine.isUp) return PHASE.down;
  if (machine.isRebooting) return PHASE.stopping;
  const now = world.clock.monotonic();
  const runs = (process: { readonly isRunning: boolean; readonly readyAt: number } | undefined): boolean =>
    process?.isRunning === true && now >= process.readyAt;
  if (plane?.etcd.isRunning !== true) return plane?.apiServer.isRunning === true ? PHASE.etcdDown : PHASE.booting;
  if (plane.podsDue && plane.apiServer.isRunning) return PHASE.due;
  const isWell = runs(plane.apiServer) && runs(kubelet) && node?.bootId === machine.bootId;
  if (isWell) return PHASE.serving;
  return plane.apiServer.isRunning ? PHASE.starting : PHASE.podsDown;
}

/** The stage that a configuration of etcd's CA stands at: who signs, and who else is in the bundle. */
function stageOf(etcd: EtcdMaterial | undefined, pair: Pair): number {
  const pool = poolOf(printsOf(etcd?.bundle ?? []), pair);
  if (pool === POOL.old) return 0;
  if (pool === POOL.new) return 3;
  return etcd?.signer === pair.old ? 1 : 2;
}

function printsOf(certificates: readonly Certificate[]): Fingerprint[] {
  return certificates.map(({ fingerprint }) => fingerprint);
}

function poolOf(prints: readonly Fingerprint[], pair: Pair): Machine['pool'] {
  if (prints.includes(pair.old)) return prints.includes(pair.new) ? POOL.both : POOL.old;
  return prints.includes(pair.new) ? POOL.new : POOL.none;
}

function cordonOf({ world }: Moment, { name, node }: SimMachine): Machine['cordon'] {
  if (node?.unschedulable !== true) return CORDON.open;
  const hasPods = world.kubernetes.workloads.pods.some((pod) => pod.owner === 'Deployment' && pod.node === name);
  return hasPods ? CORDON.cordoned : CORDON.drained;
}

function toldOf({ operation }: Moment, { name, bootId }: SimMachine, stage: CaStage): Machine['told'] {
  const entry = operation?.status.caRotation.applied.find((each) => each.machine === name);
  if (entry === undefined || configOf(STAGE[entry.stage]) !== configOf(STAGE[stage])) return TOLD.not;
  return entry.bootID === bootId ? TOLD.here : TOLD.before;
}

function noteOf({ operation }: Moment, { name, bootId }: SimMachine): Machine['note'] {
  const note = operation?.status.caRotation.inFlight.find((each) => each.machine === name);
  if (note === undefined) return NOTE.none;
  const isHere = note.bootID === bootId;
  if (note.call === 'reboot') return isHere ? NOTE.rebootHere : NOTE.rebootBefore;
  return isHere ? NOTE.applyHere : NOTE.applyBefore;
}

import type { CaStage, CaTarget, Reason, TalosOperation } from '../../../api/v1alpha1/index.ts';
import { targetsOf } from '../../rotation/decide.ts';
import type { Decision } from '../../rotation/decision.ts';
import { CONFIG_STAGES, configStageOf, type MachineObservation, type Observation } from '../../rotation/observation.ts';
import { descriptorsOf } from '../../rotation/targets/index.ts';

/** How far one machine is with one stage. */
export type Cell =
  /** Not yet. */
  | 'todo'
  /** It was given the configuration and is being proved, or its turn in the roll has not come. */
  | 'told'
  | 'draining'
  | 'rebooting'
  | 'done'
  /** Its configuration was changed by somebody else. */
  | 'foreign'
  /** It does not answer. */
  | 'unknown';

/** The stages in which machines are told something: the columns of the picture. */
export const COLUMNS = ['Accepting', 'Issuing', 'Dropping'] as const;

/** One of the columns. */
export type Column = (typeof COLUMNS)[number];

/** One machine and its cells. */
export interface Row {
  readonly machine: string;
  readonly role: 'controlplane' | 'worker';
  readonly cells: Readonly<Record<Column, Cell>>;
}

/** The stages of the whole cluster, in order. */
export interface StageMark {
  readonly stage: Exclude<CaStage, 'Pending' | 'Done'>;
  readonly state: 'done' | 'current' | 'todo';
}

/** Everything that the live picture shows, as data. */
export interface Picture {
  readonly operation: string;
  readonly targets: readonly CaTarget[];
  readonly stages: readonly StageMark[];
  readonly rows: readonly Row[];
  readonly reason: Reason;
  readonly message: string;
  /** Somebody has to do something. */
  readonly isBlocked: boolean;
}

/** What a picture is drawn from: one look of the engine. */
export interface Look {
  readonly operation: TalosOperation;
  readonly observation: Observation;
  readonly decision: Decision;
}

/** Draws one look. */
export function pictureOf({ operation, observation, decision }: Look): Picture {
  const { status } = operation;
  // In Pending the status names none yet; how long it takes depends on them from the first line on.
  const { targets: frozen } = status.caRotation;
  const targets = frozen.length > 0 ? frozen : targetsOf({ operation, store: observation.store });
  return {
    operation: operation.metadata.name,
    targets,
    stages: stageMarks(status.stage, targets),
    rows: observation.machines.map((machine) => rowOf(machine, { operation, decision })),
    reason: decision.reason,
    message: decision.message,
    isBlocked: decision.kind === 'blocked',
  };
}

const ORDER = ['Accepting', 'AwaitingCredentials', 'Issuing', 'Dropping', 'Finalizing'] as const;

function stageMarks(current: CaStage, targets: readonly CaTarget[]): StageMark[] {
  const handsOff = descriptorsOf(targets).some(({ handOff }) => handOff);
  const stages = ORDER.filter((stage) => stage !== 'AwaitingCredentials' || handsOff);
  const at = current === 'Done' ? ORDER.length : ORDER.indexOf(current as (typeof ORDER)[number]);
  return stages.map((stage) => {
    const index = ORDER.indexOf(stage);
    return { stage, state: index < at ? 'done' : index === at ? 'current' : 'todo' };
  });
}

type Seen = Pick<Look, 'operation' | 'decision'>;

function rowOf(machine: MachineObservation, seen: Seen): Row {
  const cells = Object.fromEntries(COLUMNS.map((column) => [column, cellOf(machine, seen, column)]));
  return { machine: machine.name, role: machine.role, cells: cells as Record<Column, Cell> };
}

function cellOf(machine: MachineObservation, { operation, decision }: Seen, column: Column): Cell {
  const { status } = operation;
  const wanted = CONFIG_STAGES.indexOf(column);
  const current = CONFIG_STAGES.indexOf(configStageOf(status.stage));
  if (wanted < current || status.stage === 'Done') return 'done';
  if (wanted > current) return 'todo';
  // Past the stage's own pass: Accepting is over in AwaitingCredentials, Dropping in Finalizing.
  if (status.stage !== column && machine.talos.known) return 'done';
  const { etcdRebooting, etcdDraining } = status.caRotation;
  if (etcdRebooting === machine.name) return 'rebooting';
  if (etcdDraining === machine.name) return 'draining';
  if (!machine.talos.known) return 'unknown';
  return standsAt(machine.talos.value.standing, { status, column, machine, reason: decision.reason });
}

interface Asked {
  readonly status: TalosOperation['status'];
  readonly column: Column;
  readonly machine: MachineObservation;
  readonly reason: Reason;
}

/** What is decided once every machine of a stage is proved: the machine that was told last is not waited for any more. */
const AFTER_PASS: ReadonlySet<Reason> = new Set<Reason>([
  'RollingControlPlanes',
  'EvacuatingStorage',
  'ReadmittingStorage',
  'EvacuationHookRefused',
  'CordoningControlPlane',
  'DrainingControlPlane',
  'RebootingEtcd',
  'RebootOverdue',
  'StageProved',
  'SettlingAggregator',
  'AwaitingCredentials',
  'PublishingRootCA',
  'RestartingWorkloads',
  'ResettingAuthentication',
  'ProvingRefusal',
  'OldCredentialAccepted',
]);

function standsAt(
  standing: Extract<MachineObservation['talos'], { known: true }>['value']['standing'],
  { status, column, machine, reason }: Asked,
): Cell {
  const { targets, applied, etcdRestarted } = status.caRotation;
  const wanted = CONFIG_STAGES.indexOf(column);
  for (const target of targets) {
    const found = standing[target];
    if (found.stage === 'Foreign') return 'foreign';
    if (found.stage !== 'NotConcerned' && CONFIG_STAGES.indexOf(found.stage) < wanted) return 'todo';
  }
  const isRolled = targets.includes('etcd') && machine.role === 'controlplane';
  if (isRolled) return etcdRestarted.includes(machine.name) ? 'done' : 'told';
  // The machine that was told last is the one being proved: the next is told only after it.
  return applied.at(-1)?.machine === machine.name && !AFTER_PASS.has(reason) ? 'told' : 'done';
}

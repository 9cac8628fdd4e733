import {
  CA_STAGES,
  type CaStage,
  type CaTarget,
  isAtLeast,
  type Reason,
  rotationAbandonable,
} from '../../api/v1alpha1/index.ts';
import {
  anyTarget,
  type Context,
  controlPlanes,
  DEFAULT_SETTINGS,
  firstBlocker,
  type Gate,
  type Settings,
  type Step,
  workers,
} from './context.ts';
import { contextOf } from './decide.ts';
import { BEFORE_CHANGE, BEFORE_REBOOT, GATE_TEXTS, gatesOfStart, STAGE_PROVED } from './gates/index.ts';
import type { Observation } from './observation.ts';
import { droppedFirstByWorkers } from './pass.ts';
import { type Durations, durationsOf, outagesOf, type PlanOutage, tellMs } from './plan-durations.ts';
import { settleText } from './plan-settles.ts';
import { warningsOf } from './plan-warnings.ts';
import { STAGES } from './stages/index.ts';

/** One stage as it is going to be. */
export interface PlanStage {
  readonly name: CaStage;
  readonly summary: string;
  /** Whether the operation has left it. */
  readonly done: boolean;
  /** What workers are told before everybody is told the rest; absent where they are told everything at once. */
  readonly toldFirst?: { readonly titles: readonly string[]; readonly machines: readonly (readonly string[])[] };
  /** Machines in the order in which they are told, those of one inner list at the same time; empty where nobody is. */
  readonly told: readonly (readonly string[])[];
  /** Of the control planes, which comes last whatever the order says; absent where none does. */
  readonly last?: string;
  /** Control planes that are rebooted, in order. */
  readonly reboots: readonly string[];
  /** Whether each of those reboots is skipped where a probe proves that it is not needed. */
  readonly rebootsSkippable: boolean;
  /** What is done around each of those reboots, in order, where an evacuation hook is asked; NODE is the name of the Node. */
  readonly aroundReboot?: readonly string[];
  /** What must come true before the stage is left, besides its proofs. */
  readonly waits: readonly string[];
  /** About how long it takes, milliseconds; absent where it depends on a person. */
  readonly aboutMs?: number;
}

/** What a rotation is going to do, as data: `ichor` prints it, programs read it. */
export interface Plan {
  readonly targets: readonly { readonly name: CaTarget; readonly title: string }[];
  readonly controlPlanes: readonly string[];
  readonly workers: readonly string[];
  readonly stages: readonly PlanStage[];
  /** Reboots that are certain, and as many as there may be. */
  readonly reboots: { readonly atLeast: number; readonly atMost: number };
  readonly unavailable: readonly PlanOutage[];
  readonly warnings: readonly string[];
  /** Asked before anything is written; before each machine is told; before each reboot; before a stage is left. */
  readonly checks: Readonly<Record<'start' | 'change' | 'reboot' | 'stage', readonly string[]>>;
  /** The first stage in which deleting the operation no longer abandons it, and why. */
  readonly pointOfNoReturn: { readonly stage: CaStage; readonly why: string };
  /** What is in the way of the start right now; absent where nothing is or it has begun. */
  readonly blocker?: { readonly reason: Reason; readonly message: string };
  /** Sum of the stages, without the time that a person takes. */
  readonly aboutMs: number;
}

/** Everything that a rotation is going to do to this cluster, from one observation. Measured durations make the times better. */
export function planOf(
  observation: Observation,
  settings: Settings = DEFAULT_SETTINGS,
  measured: Partial<Durations> = {},
): Plan {
  const context = contextOf(observation, settings);
  const durations = durationsOf(measured);
  const stages = CA_STAGES.filter((name) => concerns(context, name)).map((name) => planStage(context, name, durations));
  const certain = stages.filter((stage) => !stage.rebootsSkippable);
  const blocker = context.stage === 'Pending' ? firstBlocker(gatesOfStart(context), context) : undefined;
  return {
    targets: context.targets.map(({ name, title }) => ({ name, title })),
    controlPlanes: controlPlanes(context).map((machine) => machine.name),
    workers: workers(context).map((machine) => machine.name),
    stages,
    reboots: { atLeast: countReboots(certain), atMost: countReboots(stages) },
    unavailable: outagesOf(context, stages, durations),
    warnings: warningsOf(context),
    checks: {
      start: gatesOfStart(context).map(textOf),
      change: BEFORE_CHANGE.map(textOf),
      reboot: anyTarget(context, (target) => target.rolled) ? BEFORE_REBOOT.map(textOf) : [],
      stage: STAGE_PROVED.map(textOf),
    },
    pointOfNoReturn: pointOfNoReturn(context),
    ...(blocker === undefined ? {} : { blocker }),
    aboutMs: stages.reduce((sum, stage) => sum + (stage.aboutMs ?? 0), 0),
  };
}

function concerns(context: Context, name: CaStage): name is Exclude<CaStage, 'Done'> {
  if (name === 'Done') return false;
  return name !== 'AwaitingCredentials' || anyTarget(context, (target) => target.handOff);
}

function planStage(context: Context, name: Exclude<CaStage, 'Done'>, durations: Durations): PlanStage {
  const isPass = name === 'Accepting' || name === 'Issuing' || name === 'Dropping';
  const { toldFirst, told } = isPass ? orderOf(context, name) : { told: [] };
  const reboots = isPass && anyTarget(context, (target) => target.rolled) ? controlPlanes(context) : [];
  const rebootsSkippable = name === 'Issuing';
  const waits = newSettles(context, name).map((step) => settleText(step, context.settings));
  const rebooted = rebootsSkippable ? 0 : reboots.length;
  const aboutMs =
    controlPlanes(context).length * (isPass ? tellMs(context, durations) : 0) +
    ((toldFirst?.machines.length ?? 0) + Math.max(0, told.length - controlPlanes(context).length)) *
      durations.workerMs +
    rebooted * durations.rebootMs +
    waits.reduce((sum, wait) => sum + wait.ms, 0);
  return {
    name,
    summary: STAGES[name].summary,
    done: context.stage !== name && isAtLeast(context.stage, name),
    ...(toldFirst === undefined ? {} : { toldFirst }),
    told,
    ...(told.length > 0 && context.targets.some((target) => target.needs[name]?.includes('controllerManager'))
      ? { last: 'the one whose kube-controller-manager leads' }
      : {}),
    reboots: reboots.map((machine) => machine.name),
    rebootsSkippable,
    ...(reboots.length === 0 ? {} : aroundReboot(context)),
    waits: waits.map((wait) => wait.text),
    ...(name === 'AwaitingCredentials' ? {} : { aboutMs }),
  };
}

/** As `roll` and `rebooting` go. */
function aroundReboot({ observation }: Context): Pick<PlanStage, 'aroundReboot'> {
  const { evacuationHook } = observation.operation.spec;
  if (evacuationHook === undefined) return {};
  const before = [`${evacuationHook} evacuate NODE`, 'cordon', 'drain', 'reboot'];
  return { aroundReboot: [...before, `${evacuationHook} readmit NODE`, 'uncordon'] };
}

/** What a stage waits for first. A later stage asks for it again, and finds it there: its time is not counted twice. */
function newSettles(context: Context, name: CaStage): readonly Step[] {
  const settlesOf = (stage: CaStage) => context.targets.flatMap((target) => target.settle[stage] ?? []);
  const earlier = new Set(
    CA_STAGES.slice(0, CA_STAGES.indexOf(name))
      .filter((stage) => concerns(context, stage))
      .flatMap(settlesOf),
  );
  return [...new Set(settlesOf(name))].filter((step) => !earlier.has(step));
}

/** As `pass` goes: control planes one at a time, the canary, then the other workers a few at a time. */
function orderOf(context: Context, stage: CaStage): Pick<PlanStage, 'toldFirst' | 'told'> {
  const planes = controlPlanes(context).map((machine) => [machine.name]);
  const concerned = context.targets.filter((target) => target.concerns === 'all');
  if (concerned.length === 0) return { told: planes };
  const early = droppedFirstByWorkers({ stage, targets: concerned });
  const machines = batchesOf(context);
  if (early.length === concerned.length) return { told: [...machines, ...planes] };
  const told = [...planes, ...machines];
  return early.length === 0 || machines.length === 0
    ? { told }
    : { toldFirst: { titles: early.map(({ title }) => title), machines }, told };
}

function batchesOf(context: Context): string[][] {
  const [canary, ...others] = workers(context).map((machine) => machine.name);
  const size = context.settings.workersAtOnce;
  const batches = Array.from({ length: Math.ceil(others.length / size) }, (_, index) =>
    others.slice(index * size, (index + 1) * size),
  );
  return [...(canary === undefined ? [] : [[canary]]), ...batches];
}

function countReboots(stages: readonly PlanStage[]): number {
  return stages.reduce((sum, stage) => sum + stage.reboots.length, 0);
}

function pointOfNoReturn(context: Context): Plan['pointOfNoReturn'] {
  const names = context.targets.map((target) => target.name);
  const stage = CA_STAGES.find((name) => !rotationAbandonable(name, names).abandonable) ?? 'Dropping';
  return { stage, why: rotationAbandonable(stage, names).why };
}

function textOf(gate: Gate): string {
  const text = GATE_TEXTS.get(gate);
  if (text === undefined) throw new Error(`the gate ${gate.name} has no text`);
  return text;
}

import type { CaRotationStatus } from '../../api/v1alpha1/index.ts';
import { isBehind, isLeftBehind, restartsApiServer, restartsKubelet, withoutLeftBehind } from './behind.ts';
import {
  type Context,
  controlPlanes,
  firstBlocker,
  isKnown,
  type KnownMachine,
  timestamp,
  workers,
} from './context.ts';
import type { Blocker, Decision } from './decision.ts';
import { everyMachineKnown } from './gates/every-machine-known.ts';
import { BEFORE_CHANGE } from './gates/index.ts';
import { noForeignConfiguration } from './gates/no-foreign-configuration.ts';
import { hold } from './hold.ts';
import { configStageOf } from './observation.ts';
import { apiServerUnclear, unproved } from './proof.ts';

/**
 * Brings every machine to the stage's configuration: control planes one at a
 * time, each proved before the next (Talos does not coordinate the restarts of
 * kube-apiserver across machines), then one worker as canary, then the others a
 * few at a time. What workers drop first, they drop before that, in the same
 * manner. Asked at every look, so a machine that is new, was replaced or went back
 * reopens the stage.
 */
export function pass(context: Context): Decision | undefined {
  const unknown = firstBlocker([everyMachineKnown, noForeignConfiguration], context);
  if (unknown !== undefined) return hold(context, unknown);
  const early = passWorkers(context, droppedFirstByWorkers(context));
  if (early !== undefined) return early;
  return passControlPlanes(context) ?? passWorkers(context);
}

/** Whoever was told is proved before another one is, also where one further up the list went back meanwhile. */
function passControlPlanes(context: Context): Decision | undefined {
  const all = controlPlanes(context).filter(isKnown);
  const told = all.filter((machine) => !isBehind(context, machine));
  const blocker = told.map((machine) => unproved(context, machine)).find((each) => each !== undefined);
  if (blocker !== undefined) return hold(context, blocker);
  const behind = all.filter((machine) => isBehind(context, machine));
  const next = behind.find((machine) => isLeftBehind(context, machine)) ?? firstOf(context, behind);
  if (next === undefined) return undefined;
  const gate = inTheWay(context, next);
  return gate === undefined ? tell(context, [next]) : hold(context, gate);
}

/**
 * Whoever signs for kubelets comes last, where kubelets are about to ask for a
 * certificate: after its kube-controller-manager has restarted there is none for
 * some 15 s, and a kubelet that waits for one cannot restart its kube-apiserver (`talos-observed`).
 */
function firstOf({ observation }: Context, behind: readonly KnownMachine[]): KnownMachine | undefined {
  const { controllerManager } = observation.kubernetes;
  const signer = controllerManager?.known === true ? controllerManager.value : undefined;
  return behind.find((machine) => machine.name !== signer) ?? behind[0];
}

/** The targets that workers are told of before control planes are. */
export function droppedFirstByWorkers({ stage, targets }: Pick<Context, 'stage' | 'targets'>): Context['targets'] {
  return configStageOf(stage) === 'Dropping' ? targets.filter((target) => target.workersDropFirst) : [];
}

/** Brings workers there for these targets; the gates are asked for the whole rotation all the same. */
function passWorkers(context: Context, targets = context.targets): Decision | undefined {
  if (targets.length === 0) return undefined;
  const part = { ...context, targets };
  const all = workers(context).filter(isKnown);
  const behind = all.filter((machine) => isBehind(part, machine));
  const waiting = all.filter((machine) => !isBehind(part, machine)).map((machine) => unproved(part, machine));
  const blocker = waiting.find((each) => each !== undefined);
  // The canary, and then every batch, is proved before the next machine is told.
  if (blocker !== undefined) return hold(context, blocker);
  const [first] = behind;
  if (first === undefined) return undefined;
  const left = behind.find((machine) => isLeftBehind(context, machine));
  const gate = inTheWay(context, left ?? first);
  if (gate !== undefined) return hold(context, gate);
  if (left !== undefined) return tell(context, [left], targets);
  const isCanary = behind.length === all.length;
  return tell(context, behind.slice(0, isCanary ? 1 : context.settings.workersAtOnce), targets);
}

/** What is in the way of telling this machine. */
function inTheWay(context: Context, machine: KnownMachine): Blocker | undefined {
  const asked = isLeftBehind(context, machine) ? withoutLeftBehind(context) : context;
  return firstBlocker(BEFORE_CHANGE, asked) ?? apiServerUnclear(asked, machine);
}

function tell(context: Context, machines: readonly KnownMachine[], targets = context.targets): Decision {
  const stage = configStageOf(context.stage);
  if (stage === 'Before') throw new Error('a pass needs a stage with a configuration of its own');
  const names = machines.map((machine) => machine.name);
  const [first] = names;
  const isPart = context.targets.some((target) => target.concerns === 'all' && !targets.includes(target));
  const part = isPart ? { targets: targets.map(({ name }) => name) } : {};
  return {
    kind: 'act',
    effect:
      names.length === 1 && first !== undefined
        ? { kind: 'apply-config', machine: first, stage, ...part }
        : { kind: 'apply-configs', machines: names, stage, ...part },
    reason: 'ApplyingConfiguration',
    message: `${names.join(', ')}: applying the configuration of ${stage}${
      isPart ? ` for the ${targets.map(({ title }) => title).join(', the ')} alone` : ''
    }`,
    mark: {
      applied: machines.reduce((applied, machine) => remember(context, applied, machine), context.status.applied),
      // Its etcd has not read what it is about to be given.
      etcdRestarted: context.status.etcdRestarted.filter((name) => !names.includes(name)),
    },
  };
}

/**
 * Adds what is true of a machine now to the record of this stage; an entry of an
 * earlier stage is replaced. Without `apiServer` no new kube-apiserver is asked for.
 */
export function remember(
  context: Context,
  applied: CaRotationStatus['applied'],
  machine: KnownMachine,
  { apiServer }: { readonly apiServer: boolean } = { apiServer: true },
): CaRotationStatus['applied'] {
  const { bootId, kubelet, apiServers: [apiServerInstance] = [] } = machine.talos.value;
  const entry = {
    machine: machine.name,
    stage: context.stage,
    bootID: bootId,
    ...(apiServer && apiServerInstance !== undefined && restartsApiServer(context, machine)
      ? { apiServerInstance }
      : {}),
    ...(kubelet.startedAt !== undefined && restartsKubelet(context, machine)
      ? { kubeletStartedAt: new Date(kubelet.startedAt).toISOString() }
      : {}),
    ...(isLeftBehind(context, machine) ? { leftBehind: true } : {}),
    appliedAt: timestamp(context),
  };
  return [...applied.filter((each) => each.machine !== machine.name), entry];
}

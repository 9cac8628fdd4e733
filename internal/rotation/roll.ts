import {
  anyTarget,
  type Context,
  controlPlanes,
  elapsedSince,
  firstBlocker,
  isKnown,
  type KnownMachine,
  timestamp,
} from './context.ts';
import { BLOCKED_RECHECK_MS, type Blocker, blockedBy, type Decision, waitFor } from './decision.ts';
import { evacuate, readmit } from './evacuation.ts';
import { BEFORE_REBOOT } from './gates/index.ts';
import { hold } from './hold.ts';
import type { MachineObservation } from './observation.ts';
import { remember } from './pass.ts';
import { appliedTo } from './proof.ts';

/** How soon pods that have not gone are asked again. */
const DRAIN_RETRY_MS = 5_000;

/**
 * Reboots the control planes that have not started since they were given the
 * stage's etcd certificates, one at a time: evacuate, cordon, drain, give up
 * leadership, write the marker, reboot. A reboot is the only way: Talos does not restart
 * etcd for a CA change and its API refuses to.
 */
export function roll(context: Context): Decision | undefined {
  return rollOf(context, controlPlanes(context));
}

/** The same for some of the control planes only; one that is being drained and need not reboot any more is let go first. */
export function rollOf(context: Context, among: readonly MachineObservation[]): Decision | undefined {
  if (!anyTarget(context, (target) => target.rolled)) return undefined;
  const machines = among.filter(isKnown);
  const unmarked = machines.find((machine) => appliedTo(context, machine) === undefined);
  if (unmarked !== undefined) return markUnmarked(context, unmarked);
  const waiting = machines.filter((machine) => needsReboot(context, machine));
  const release = releaseDrained(context, waiting);
  if (release !== undefined) return release;
  const { etcdDraining } = context.status;
  const next =
    // The one that is drained already goes on: two are never cordoned at a time.
    waiting.find((machine) => machine.name === etcdDraining) ??
    // Not all of the others can connect to its etcd: none of them goes while it counts.
    waiting.find((machine) => startedTooEarly(context, machine)) ??
    waiting[0];
  if (next === undefined) return undefined;
  const blocker = firstBlocker(BEFORE_REBOOT, { ...context, rebooted: next.name });
  if (blocker !== undefined) return hold(context, blocker);
  return prepare(context, next) ?? reboot(context, next);
}

/** Whether the machine is still in the boot in which it was given the stage's configuration. */
function needsReboot(context: Context, machine: KnownMachine): boolean {
  return appliedTo(context, machine)?.bootID === machine.talos.value.bootId;
}

/**
 * Whether its etcd is of no stage that the others understand: the machine came back two
 * stages behind (an old disk, another machine in its place), was told, and is in that boot yet.
 */
export function startedTooEarly(context: Context, machine: KnownMachine): boolean {
  return appliedTo(context, machine)?.leftBehind === true && needsReboot(context, machine);
}

/**
 * A machine stands at the stage without our record of when (it was at the stage
 * before us, or the record was lost): from now on only another boot proves that
 * its etcd has read the certificates.
 */
function markUnmarked(context: Context, machine: KnownMachine): Decision {
  return {
    kind: 'act',
    effect: { kind: 'update-status' },
    reason: 'RollingControlPlanes',
    message: `${machine.name} stands at this stage without a record of its boot; it will be rebooted`,
    // Its kube-apiserver is left out: no restart of it is to come before that reboot.
    mark: { applied: remember(context, context.status.applied, machine, { apiServer: false }) },
  };
}

/** A machine that was being evacuated or drained and rebooted by itself, serves the new leaf by now, or left the cluster. */
function releaseDrained(context: Context, waiting: readonly KnownMachine[]): Decision | undefined {
  const name = context.status.etcdDraining ?? context.status.evacuation?.machine;
  if (name === undefined || waiting.some((machine) => machine.name === name)) return undefined;
  const storage = readmit(context);
  if (storage !== undefined) return storage;
  const machine = controlPlanes(context).find((each) => each.name === name);
  const isOurs = machine?.node.known === true && machine.node.value?.cordonedByUs === true;
  return {
    kind: 'act',
    effect: isOurs ? { kind: 'uncordon', machine: name } : { kind: 'update-status' },
    reason: 'RollingControlPlanes',
    message: `${name} was being drained and need not be rebooted any more; letting pods back`,
    after: {
      etcdDraining: undefined,
      drainStartedAt: undefined,
      drainTriedAt: undefined,
      etcdForfeited: undefined,
      evacuation: undefined,
    },
  };
}

function prepare(context: Context, machine: KnownMachine): Decision | undefined {
  const { name } = machine;
  // Whoever cordoned it: what it stores is away before its pods are asked to go.
  const storage = evacuate(context, name);
  if (storage !== undefined) return storage;
  const node = machine.node.known ? machine.node.value : undefined;
  if (node !== undefined && !node.cordoned) {
    return {
      kind: 'act',
      effect: { kind: 'cordon', machine: name },
      reason: 'CordoningControlPlane',
      message: `${name}: cordoning it before its reboot`,
      mark: { etcdDraining: name, drainStartedAt: timestamp(context) },
    };
  }
  if (context.status.etcdDraining !== name || context.status.drainStartedAt === undefined) {
    return {
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'DrainingControlPlane',
      message: `${name}: it is cordoned already; draining it`,
      mark: { etcdDraining: name, drainStartedAt: timestamp(context) },
    };
  }
  return drain(context, name) ?? forfeit(context, machine);
}

function drain(context: Context, name: string): Decision | undefined {
  const reading = context.observation.kubernetes.draining;
  if (reading === undefined) return waitFor({ reason: 'DrainingControlPlane', message: `${name}: listing its pods` });
  if (!reading.known)
    return hold(context, { reason: 'KubernetesUnknown', message: `pods of ${name}: ${reading.message}` });
  const [first] = reading.value;
  if (first === undefined) return undefined;
  const { pod, heldBy } = reading.value.find((each) => each.heldBy !== undefined) ?? first;
  const isLate = elapsedSince(context, context.status.drainStartedAt) > context.settings.drainDeadlineMs;
  const pods = reading.value.length === 1 ? '1 pod' : `${reading.value.length} pods`;
  const message = `${name}: ${pods} to move, among them ${pod}${heldBy === undefined ? '' : `, held by ${heldBy}`}${isLate ? '; expected it to be empty by now' : ''}`;
  const blocker: Blocker = { reason: 'DrainingControlPlane', message };
  // Pods need a moment to go, and a budget that is exhausted now may be free later: asked again, but not at every look.
  if (elapsedSince(context, context.status.drainTriedAt) < (isLate ? BLOCKED_RECHECK_MS : DRAIN_RETRY_MS)) {
    return isLate ? blockedBy(blocker) : waitFor(blocker);
  }
  return {
    kind: 'act',
    effect: { kind: 'drain', machine: name },
    ...blocker,
    mark: { drainTriedAt: timestamp(context) },
  };
}

function forfeit(context: Context, machine: KnownMachine): Decision | undefined {
  const { etcd } = machine.talos.value;
  const leads = etcd?.known === true && etcd.value.leaderId === etcd.value.memberId && etcd.value.members.length > 1;
  if (!leads || context.status.etcdForfeited === machine.name) return undefined;
  return {
    kind: 'act',
    effect: { kind: 'forfeit-leadership', machine: machine.name },
    reason: 'RebootingEtcd',
    message: `${machine.name} leads etcd; asking it to hand over before its reboot`,
    // Asked once, best effort: etcd hands over by itself when it stops.
    mark: { etcdForfeited: machine.name },
  };
}

function reboot(context: Context, machine: KnownMachine): Decision {
  return {
    kind: 'act',
    effect: { kind: 'reboot', machine: machine.name },
    reason: 'RebootingEtcd',
    message: `${machine.name}: rebooting, so that its etcd and kube-apiserver read the certificates of ${context.stage}`,
    mark: {
      etcdRebooting: machine.name,
      etcdRebootBootID: machine.talos.value.bootId,
      etcdRestartedAt: timestamp(context),
      etcdRebootSince: timestamp(context),
    },
  };
}

import { anyTarget, type Context, type KnownMachine } from './context.ts';
import type { Blocker } from './decision.ts';
import { CONFIG_STAGES, configStageOf, type MachineObservation } from './observation.ts';
import type { TargetDescriptor } from './targets/descriptor.ts';

/** The record of what a machine was like before it was given this stage's configuration. */
export function appliedTo(context: Context, machine: MachineObservation) {
  const stage = configStageOf(context.stage);
  return context.status.applied.find((each) => each.machine === machine.name && configStageOf(each.stage) === stage);
}

/**
 * Why a machine that carries this stage's configuration is not proved yet: its
 * resources must hold the stage's certificates, a *new* kubelet must be well and
 * a *new* kube-apiserver answer on it where Talos restarts them.
 */
export function unproved(context: Context, machine: KnownMachine): Blocker | undefined {
  const { kubelet, configDigest, keptDigest } = machine.talos.value;
  // An apply is answered before the configuration is on the disk; with a full STATE the next boot would go back.
  if (keptDigest !== undefined && keptDigest !== configDigest) {
    return proving(machine, 'the configuration that it keeps for the next boot is not the one that it runs');
  }
  for (const target of context.targets) {
    const found = foundInstead(context, machine, target);
    if (found !== undefined) return proving(machine, found);
  }
  if (!kubelet.running || !kubelet.healthy) return proving(machine, 'its kubelet is not running and healthy');
  const before = appliedTo(context, machine);
  // What it trusts it has read at its start; its resources are there a moment before it is stopped.
  if (isSameKubelet(machine, before)) {
    return proving(
      machine,
      `its kubelet is still the one that started at ${before?.kubeletStartedAt}; expected a new one`,
    );
  }
  return machine.role === 'controlplane' ? apiServerUnproved(context, machine) : undefined;
}

function isSameKubelet(machine: KnownMachine, before: ReturnType<typeof appliedTo>): boolean {
  const { bootId, kubelet } = machine.talos.value;
  if (before?.kubeletStartedAt === undefined || kubelet.startedAt === undefined) return false;
  return before.bootID === bootId && Date.parse(before.kubeletStartedAt) === Math.floor(kubelet.startedAt);
}

/** What the machine runs with for a target instead of what it should, or `undefined` when that is proved. */
export function foundInstead(context: Context, machine: KnownMachine, target: TargetDescriptor): string | undefined {
  const stage = provedAt(context, machine, target);
  const material = context.material[target.name];
  if (stage === 'Before' || material === undefined) return undefined;
  if (target.concerns === 'controlplane' && machine.role === 'worker') return undefined;
  return target.prove({ pki: machine.talos.value.pki, role: machine.role, stage, material });
}

/**
 * The stage at which a machine is asked to prove itself: the rotation's, or its
 * own where it stands further on (the status was put back to an older one). What
 * is done in a stage stays done in every later one.
 */
function provedAt(context: Context, machine: KnownMachine, target: TargetDescriptor): (typeof CONFIG_STAGES)[number] {
  const wanted = configStageOf(context.stage);
  const standing = machine.talos.value.standing[target.name];
  return CONFIG_STAGES.findLast((stage) => stage === wanted || stage === standing.stage) ?? wanted;
}

/**
 * Why a control plane may not be told now: what runs after it is compared with the
 * kube-apiserver of before, so exactly one must run. Beside one that is still ending,
 * the other would pass for a new one, and it has read nothing of what is applied.
 */
export function apiServerUnclear(context: Context, machine: KnownMachine): Blocker | undefined {
  const { apiServers } = machine.talos.value;
  if (apiServers === undefined || !anyTarget(context, (target) => target.restartsApiServer)) return undefined;
  // One that was left behind may not be able to start before it is told.
  if (apiServers.length === 1 || (apiServers.length === 0 && context.leftBehind?.has(machine.name))) return undefined;
  return {
    reason: 'ApiServerNotReady',
    message: `${machine.name}: ${apiServers.length === 0 ? 'no kube-apiserver runs' : `${apiServers.length} kube-apiservers run beside one another`}; expected one before it is told`,
    machines: [machine.name],
  };
}

function apiServerUnproved(context: Context, machine: KnownMachine): Blocker | undefined {
  const { apiServers = [], bootId } = machine.talos.value;
  const before = appliedTo(context, machine);
  const restarts = anyTarget(context, (target) => target.restartsApiServer);
  // After a reboot everything is new, whatever the container is called.
  if (restarts && before?.apiServerInstance !== undefined && before.bootID === bootId) {
    if (apiServers.length === 0) return proving(machine, 'its kube-apiserver is not running');
    if (apiServers.includes(before.apiServerInstance)) {
      const old = before.apiServerInstance.slice(0, 12);
      return proving(
        machine,
        apiServers.length === 1
          ? `its kube-apiserver is still container ${old}; expected a new one`
          : `its kube-apiserver of before, container ${old}, still runs beside a new one; expected the new one alone`,
      );
    }
  }
  const { apiServer } = machine;
  if (apiServer?.known === true && apiServer.value.ready) return undefined;
  const found = apiServer === undefined ? 'not asked' : apiServer.known ? apiServer.value.message : apiServer.message;
  return proving(machine, `its kube-apiserver does not answer /readyz: ${found}`);
}

function proving(machine: MachineObservation, found: string): Blocker {
  return { reason: 'ProvingMachine', message: `${machine.name}: ${found}`, machines: [machine.name] };
}

import { anyTarget, type Context, type KnownMachine } from './context.ts';
import type { Blocker } from './decision.ts';
import { configStageOf, type MachineObservation } from './observation.ts';

/** The record of what a machine was like before it was given this stage's configuration. */
export function appliedTo(context: Context, machine: MachineObservation) {
  const stage = configStageOf(context.stage);
  return context.status.applied.find((each) => each.machine === machine.name && configStageOf(each.stage) === stage);
}

/**
 * Why a machine that carries this stage's configuration is not proved yet: its
 * resources must hold the stage's certificates, a *new* kube-apiserver must
 * answer on it where Talos restarts it, and its kubelet must be back.
 */
export function unproved(context: Context, machine: KnownMachine): Blocker | undefined {
  const stage = configStageOf(context.stage);
  if (stage === 'Before') return undefined;
  const { pki, kubelet } = machine.talos.value;
  for (const target of context.targets) {
    const material = context.material[target.name];
    if (material === undefined || (target.concerns === 'controlplane' && machine.role === 'worker')) continue;
    const found = target.prove({ pki, role: machine.role, stage, material });
    if (found !== undefined) return proving(machine, found);
  }
  if (!kubelet.running || !kubelet.healthy) return proving(machine, 'its kubelet is not running and healthy');
  return machine.role === 'controlplane' ? apiServerUnproved(context, machine) : undefined;
}

function apiServerUnproved(context: Context, machine: KnownMachine): Blocker | undefined {
  const { apiServerInstance, bootId } = machine.talos.value;
  const before = appliedTo(context, machine);
  const restarts = anyTarget(context, (target) => target.restartsApiServer);
  // After a reboot everything is new, whatever the container is called.
  if (restarts && before?.apiServerInstance !== undefined && before.bootID === bootId) {
    if (apiServerInstance === undefined) return proving(machine, 'its kube-apiserver is not running');
    if (apiServerInstance === before.apiServerInstance) {
      return proving(
        machine,
        `its kube-apiserver is still container ${apiServerInstance.slice(0, 12)}; expected a new one`,
      );
    }
  }
  const { apiServer } = machine;
  if (apiServer?.known === true && apiServer.value.ready) return undefined;
  const found = apiServer === undefined ? 'not asked' : apiServer.known ? apiServer.value.message : apiServer.message;
  return proving(machine, `its kube-apiserver does not answer /readyz: ${found}`);
}

function proving(machine: MachineObservation, found: string): Blocker {
  return { reason: 'ProvingMachine', message: `${machine.name}: ${found}` };
}

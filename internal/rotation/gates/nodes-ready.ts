import { type Context, controlPlanes, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';
import { configStageOf, type MachineObservation } from '../observation.ts';

/** Every machine has a Node that is Ready with a fresh heartbeat, in the boot that the machine itself reports. */
export function nodesReady(context: Context): Blocker | undefined {
  for (const machine of context.observation.machines) {
    if (context.leftBehind?.has(machine.name) || isShutOut(context, machine)) continue;
    if (!machine.node.known)
      return { reason: 'KubernetesUnknown', message: `the Node of ${machine.name}: ${machine.node.message}` };
    const node = machine.node.value;
    if (node === undefined)
      return { reason: 'NodeNotReady', message: `${machine.name} has no Node; expected one that is Ready` };
    if (!node.ready)
      return { reason: 'NodeNotReady', message: `Node ${node.name}: ${node.readyMessage}; expected Ready` };
    if (machine.talos.known && node.bootId !== '' && node.bootId !== machine.talos.value.bootId) {
      return {
        reason: 'NodeNotReady',
        message: `Node ${node.name} is Ready from the boot before; expected its kubelet to report boot ${machine.talos.value.bootId}`,
      };
    }
  }
  return undefined;
}

/**
 * A kubelet keeps its client certificate of the old CA until it is told to drop
 * that CA (`measured`), so API servers that have dropped it refuse the kubelets of
 * machines that are still to be told. Their Nodes cannot stay Ready, and telling
 * them is what brings them back: waiting for them would be waiting for ever.
 */
function isShutOut(context: Context, machine: MachineObservation): boolean {
  if (configStageOf(context.stage) !== 'Dropping' || !isKnown(machine)) return false;
  const { kubelet, standing } = machine.talos.value;
  return context.targets
    .filter((target) => target.restartsKubelet && standing[target.name].stage === 'Issuing')
    .some(
      ({ name }) =>
        kubelet.running &&
        controlPlanes(context)
          .filter(isKnown)
          .some((plane) => plane.talos.value.standing[name].stage === 'Dropping'),
    );
}

import type { Context } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** Every machine has a Node that is Ready with a fresh heartbeat, in the boot that the machine itself reports. */
export function nodesReady(context: Context): Blocker | undefined {
  for (const machine of context.observation.machines) {
    if (context.leftBehind?.has(machine.name)) continue;
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

import { anyTarget, type Context } from '../context.ts';
import type { Blocker } from '../decision.ts';

/**
 * No machine of the cluster is without a Node. Machines are listed from Kubernetes: one whose kubelet does not
 * register (`skipNodeRegistration`), or whose Node somebody deleted, is told of no stage, keeps the old CAs, and
 * nobody trusts it any more once they are dropped. Discovery may be off or late, so only one that answers counts.
 */
export function everyMachineListed(context: Context): Blocker | undefined {
  const { unlisted } = context.observation;
  // What only control planes hold is in the list of etcd's members.
  if (unlisted?.known !== true || !anyTarget(context, (target) => target.concerns === 'all')) return undefined;
  const found = unlisted.value.filter(({ answers }) => answers);
  if (found.length === 0) return undefined;
  const names = found.map(({ name, address }) => `${name} (${address})`).join(', ');
  return {
    reason: 'MachineListIncomplete',
    message: `without a Node, and of this cluster by discovery: ${names}; expected a Node for every machine, because one without it (machine.kubelet.skipNodeRegistration) is told of no stage and cut off in Dropping`,
  };
}

import { type Context, controlPlanes } from '../context.ts';
import type { Blocker } from '../decision.ts';

/**
 * While one control plane is down the others must keep quorum: two members
 * tolerate no loss, and neither does any even number of its half. A single
 * control plane is allowed; its API is away while it reboots, and the plan says so.
 */
export function etcdKeepsQuorum(context: Context): Blocker | undefined {
  const count = controlPlanes(context).length;
  if (count === 0) return { reason: 'MachineListIncomplete', message: 'no control plane was found' };
  if (count % 2 === 1) return undefined;
  return { reason: 'ClusterTransitioning', message: `there are ${count} control planes; expected an odd number` };
}

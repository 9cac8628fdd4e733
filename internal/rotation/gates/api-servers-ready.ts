import { type Context, controlPlanes } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** Every kube-apiserver answers /readyz on its own machine, never through a load balancer. */
export function apiServersReady(context: Context): Blocker | undefined {
  for (const machine of controlPlanes(context)) {
    if (context.leftBehind?.has(machine.name)) continue;
    const { apiServer } = machine;
    if (apiServer?.known === true && apiServer.value.ready) continue;
    const found = apiServer === undefined ? 'not asked' : apiServer.known ? apiServer.value.message : apiServer.message;
    return {
      reason: 'ApiServerNotReady',
      message: `kube-apiserver on ${machine.name}: ${found}; expected /readyz to answer ok`,
      machines: [machine.name],
    };
  }
  return undefined;
}

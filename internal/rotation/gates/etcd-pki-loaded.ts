import { isBehind } from '../behind.ts';
import { type Context, controlPlanes, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';
import { foundInstead } from '../proof.ts';

/**
 * Before a reboot, every control plane's etcd certificates are the stage's; a
 * machine that did not take them stops the roll. One that went back to an earlier
 * stage meanwhile, as one does whose disk is restored, gets them with the next pass,
 * and that waits for the reboot which is marked.
 */
export function etcdPkiLoaded(context: Context): Blocker | undefined {
  for (const target of context.targets.filter((each) => each.rolled)) {
    for (const machine of controlPlanes(context).filter(isKnown)) {
      if (isBehind(context, machine)) continue;
      const found = foundInstead(context, machine, target);
      if (found !== undefined) {
        return { reason: 'EtcdPkiNotLoaded', message: `${machine.name}: ${found}`, machines: [machine.name] };
      }
    }
  }
  return undefined;
}

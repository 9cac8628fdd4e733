import { type Context, controlPlanes } from '../context.ts';
import type { Blocker } from '../decision.ts';

/**
 * No other control plane than the one to be rebooted is cordoned by anybody but us.
 * Who drains one (an upgrade, a person) may take it away in the next moment, and with
 * the one that we reboot that is one more than etcd can lose.
 */
export function nobodyCordoned(context: Context): Blocker | undefined {
  for (const { name, node } of controlPlanes(context)) {
    if (name === context.rebooted) continue;
    // Whose Node cannot be read is not asked here: `nodesReady` holds for it.
    const found = node.known ? node.value : undefined;
    if (found?.cordoned === true && !found.cordonedByUs) {
      return {
        reason: 'ControlPlaneCordoned',
        message: `Node ${found.name} is cordoned, and not by this rotation; expected that nobody else takes a control plane away`,
      };
    }
  }
  return undefined;
}

import { anyTarget, type Context, controlPlanes } from '../context.ts';
import type { Blocker } from '../decision.ts';

/**
 * No other control plane than the one to be rebooted is cordoned by anybody but us.
 * Who drains one (an upgrade, a person) may take it away in the next moment, and with
 * the one that we reboot that is one more than etcd can lose. Asked before the start as well: a control plane that
 * its owner keeps cordoned would hold the roll in mid-stage.
 */
export function nobodyCordoned(context: Context): Blocker | undefined {
  const planes = controlPlanes(context);
  // The only one is no other than the one that is to be rebooted.
  if (planes.length === 1 || !anyTarget(context, (target) => target.rolled)) return undefined;
  for (const { name, node } of planes) {
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

import type { Context } from '../context.ts';
import type { Blocker } from '../decision.ts';

/**
 * How far a machine's clock may be from ours. New CAs and our own certificates begin five minutes
 * before our time, what Talos issues begins at the time of the machine that signs; a Lease tells a
 * clock to some ten seconds.
 */
export const CLOCKS_APART_MS = 120_000;

/**
 * Before the start, every machine has the time that this host has. To a clock that is behind, a new CA
 * is not valid yet; what a machine ahead signs is refused by all the others. Both would be met in mid-stage.
 */
export function clocksAgree(context: Context): Blocker | undefined {
  for (const { name, node } of context.observation.machines) {
    const aheadMs = node.known ? (node.value?.clockAheadMs ?? 0) : 0;
    if (Math.abs(aheadMs) <= CLOCKS_APART_MS) continue;
    return {
      reason: 'ClocksDisagree',
      message: `the clock of ${name} is ${spanText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this host; expected at most ${spanText(CLOCKS_APART_MS)}`,
    };
  }
  return undefined;
}

function spanText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}

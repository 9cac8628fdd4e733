import { isAtLeast } from '../../../api/v1alpha1/index.ts';
import type { Context } from '../context.ts';
import type { Blocker } from '../decision.ts';

/**
 * Once machines may have been told, the record must be there and hold the very
 * certificate authorities that the status names. Without it every proof would be
 * asked of nothing, and with another one a third CA would be handed out.
 */
export function recordIsKept(context: Context): Blocker | undefined {
  if (!isAtLeast(context.stage, 'Accepting')) return undefined;
  const { material } = context.observation.store;
  if (material === undefined) {
    return {
      reason: 'RecordLost',
      message: `the rotation record is gone in ${context.stage}; expected the new certificate authorities in it`,
    };
  }
  for (const { name, new: expected } of context.status.certificates) {
    const found = material[name]?.new.fingerprint;
    if (found === expected) continue;
    return {
      reason: 'RecordLost',
      message: `the rotation record holds ${found?.slice(0, 12) ?? 'nothing'} for ${name}; expected ${expected.slice(0, 12)}, which this rotation began with`,
    };
  }
  return undefined;
}

import { isKubeError } from '../../pkg/kube/index.ts';
import { isTalosError } from '../../pkg/talos/index.ts';

/** Whether a failed effect certainly changed nothing, or may have. */
export type EffectOutcome = 'ok' | 'refused' | 'unknown';

/** An effect was not done for a reason of ours: what was found is not what the decision was made on. */
export class EffectRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EffectRefusedError';
  }
}

/** What is certain after a failed effect; whatever we cannot classify may have been done. */
export function outcomeOf(error: unknown): EffectOutcome {
  if (error instanceof EffectRefusedError) return 'refused';
  if (isTalosError(error) || isKubeError(error)) return error.outcome === 'not-done' ? 'refused' : 'unknown';
  return 'unknown';
}

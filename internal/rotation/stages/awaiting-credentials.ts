import { HANDOFF_ANNOTATION, handoffToken } from '../../../api/v1alpha1/index.ts';
import type { Context } from '../context.ts';
import { type Decision, waitFor } from '../decision.ts';
import { pass } from '../pass.ts';
import { roll } from '../roll.ts';
import { enter, proved, type Stage, settled } from './stage.ts';

/** The operator takes the new talosconfig and kubeconfig before the old ones stop working. */
export const awaitingCredentials: Stage = {
  summary: 'the operator takes the new talosconfig and kubeconfig',
  // The proofs of Accepting are asked again: a machine may have joined while people were away.
  steps: [acknowledged, pass, roll, proved, settled, enter(() => 'Issuing')],
};

function acknowledged(context: Context): Decision | undefined {
  const given = context.observation.operation.metadata.annotations[HANDOFF_ANNOTATION];
  const expected = handoffToken(context.status);
  // A status that names no certificate has no token that anybody could have been shown.
  if (expected !== '' && given === expected) return undefined;
  return waitFor({
    reason: 'AwaitingCredentials',
    message:
      'the new talosconfig and kubeconfig are ready; waiting for the acknowledgement that somebody has taken them',
    // The operation says it, no machine does.
    machines: [],
  });
}

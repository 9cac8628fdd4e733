import { type Context, firstBlocker } from '../context.ts';
import { blockedBy, type Decision } from '../decision.ts';
import { certificatesPass } from '../gates/certificates-pass.ts';
import { PREFLIGHT } from '../gates/index.ts';
import { enter, type Stage } from './stage.ts';

/** Checks everything that can be checked, then freezes the targets in the record before any machine is told. */
export const pending: Stage = {
  summary: 'check the cluster; make the new certificate authorities and store them',
  steps: [preflight, record, checked, enter(() => 'Accepting')],
};

function preflight(context: Context): Decision | undefined {
  // Once the record is written the targets are frozen, and machines may have been told.
  if (context.observation.store.material !== undefined) return undefined;
  const blocker = firstBlocker(PREFLIGHT, context);
  return blocker === undefined ? undefined : blockedBy(blocker);
}

function record(context: Context): Decision | undefined {
  if (context.observation.store.material !== undefined) return undefined;
  const targets = context.targets.map((target) => target.name);
  return {
    kind: 'act',
    effect: { kind: 'write-record', targets },
    reason: 'RecordWritten',
    message: `storing new certificate authorities for ${targets.join(', ')}`,
  };
}

/** What was stored is checked as it was read back: a damaged record stops here, with no machine told. */
function checked(context: Context): Decision | undefined {
  const blocker = certificatesPass(context);
  return blocker === undefined ? undefined : blockedBy(blocker);
}

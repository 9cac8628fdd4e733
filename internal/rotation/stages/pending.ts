import type { CaStage } from '../../../api/v1alpha1/index.ts';
import { type Context, firstBlocker, isKnown, waitedSince } from '../context.ts';
import { blockedBy, type Decision, waitOut } from '../decision.ts';
import { certificatesPass } from '../gates/certificates-pass.ts';
import { gatesOfStart } from '../gates/index.ts';
import { hold } from '../hold.ts';
import { enter, type Stage } from './stage.ts';

/** Checks everything that can be checked, then freezes the targets in the record before any machine is told. */
export const pending: Stage = {
  summary: 'check the cluster; make the new certificate authorities and store them',
  steps: [preflight, record, checked, adopted, enter(reached)],
};

function preflight(context: Context): Decision | undefined {
  // Once the record is written the targets are frozen, and machines may have been told.
  if (context.observation.store.material !== undefined) return undefined;
  const blocker = firstBlocker(gatesOfStart(context), context);
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

/**
 * For so long after its beginning an operation that goes on with another one's record sends
 * nothing: calls of that one may still land (30 s at most), and a kube-apiserver that it
 * restarted may still be away (48 s at most, `talos-observed`). Nobody remembers either.
 */
const ADOPTION_MS = 90_000;

/**
 * The record is another operation's, which was removed by force. Its keys may be on machines
 * and nowhere else, so this one goes on with it; how far that one came is seen on the machines.
 */
function adopted(context: Context): Decision | undefined {
  const { operation, store } = context.observation;
  if (store.adoptedFrom === undefined) return undefined;
  const blocker = firstBlocker(gatesOfStart(context), context);
  if (blocker !== undefined) return hold(context, blocker);
  const left = ADOPTION_MS - waitedSince(context, operation.metadata.creationTimestamp);
  if (left <= 0) return undefined;
  const message = `going on with the record of operation ${store.adoptedFrom}, which is gone; waiting until nothing of it can still land`;
  return waitOut({ reason: 'NotQuiescent', message }, left);
}

/** The stage that the machine furthest on stands at: nobody is told of a stage before all are proved at the one before it. */
function reached({ observation, targets }: Context): CaStage {
  if (observation.store.bundleReplaced) return 'Finalizing';
  const stages = observation.machines
    .filter(isKnown)
    .flatMap((machine) => targets.map(({ name }) => machine.talos.value.standing[name].stage));
  return (['Dropping', 'Issuing'] as const).find((stage) => stages.includes(stage)) ?? 'Accepting';
}

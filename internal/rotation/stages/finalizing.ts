import type { Context } from '../context.ts';
import { blockedBy, type Decision, waitFor } from '../decision.ts';
import { hold } from '../hold.ts';
import type { RefusalProof } from '../observation.ts';
import { pass } from '../pass.ts';
import { roll } from '../roll.ts';
import { proved, type Stage, settled } from './stage.ts';

/** The bundle is replaced in one step, leftovers are removed, and every old credential is proved refused. */
export const finalizing: Stage = {
  summary: 'replace secrets.yaml; reset what Kubernetes still publishes; prove that old credentials are refused',
  steps: [replaceBundle, pass, roll, proved, settled, oldCredentialsRefused, uncordonLeftovers, complete],
};

function replaceBundle(context: Context): Decision | undefined {
  if (context.observation.store.bundleReplaced) return undefined;
  return {
    kind: 'act',
    effect: { kind: 'replace-bundle' },
    reason: 'ReplacingBundle',
    message: `replacing ${context.targets.map((target) => target.name).join(', ')} in the bundle`,
  };
}

function oldCredentialsRefused(context: Context): Decision | undefined {
  const { refusals } = context.observation;
  // Nothing tried is nothing refused.
  if (refusals === undefined || refusals.length === 0)
    return waitFor({ reason: 'ProvingRefusal', message: 'trying the old credentials everywhere' });
  const accepted = refusals.find((proof) => proof.outcome === 'accepted');
  if (accepted !== undefined) {
    return blockedBy({
      reason: 'OldCredentialAccepted',
      message: `${accepted.what}: ${accepted.message}; expected it to be refused`,
    });
  }
  const unknown = refusals.find((proof) => proof.outcome === 'unknown') ?? untried(context)[0];
  if (unknown === undefined) return undefined;
  const decision = hold(context, { reason: 'ProvingRefusal', message: `${unknown.what}: ${unknown.message}` });
  // A restart of ours ends by itself; what cannot be reached after that is let go only where somebody said so.
  const isReported = context.observation.operation.spec.unreachableEndpoints === 'Report';
  return unknown.outcome === 'unreachable' && decision.kind === 'blocked' && isReported ? undefined : decision;
}

/** Endpoints of which nobody here can say whether they refuse the old credentials. */
function untried({ observation }: Context): readonly RefusalProof[] {
  return observation.refusals?.filter((proof) => proof.outcome === 'unreachable') ?? [];
}

function uncordonLeftovers(context: Context): Decision | undefined {
  const left = context.observation.machines.find(
    (machine) => machine.node.known && machine.node.value?.cordonedByUs === true,
  );
  if (left === undefined) return undefined;
  return {
    kind: 'act',
    effect: { kind: 'uncordon', machine: left.name },
    reason: 'RollingControlPlanes',
    message: `${left.name} is still cordoned by this rotation; letting pods back`,
  };
}

/** Done is written first; the record goes after it, so that a crash between the two is only finished again. */
function complete(context: Context): Decision {
  const names = context.targets.map((target) => target.name).join(', ');
  const left = untried(context).map(({ what, message }) => `${what}: ${message}`);
  return {
    kind: 'act',
    effect: { kind: 'enter-stage', stage: 'Done' },
    reason: 'Completed',
    message: `${names}: nothing is left on the old certificate authorities${
      left.length === 0 ? '' : `; not tried, because it could not be reached: ${left.join('; ')}`
    }`,
  };
}

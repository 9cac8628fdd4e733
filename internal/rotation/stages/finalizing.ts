import type { Context } from '../context.ts';
import { blockedBy, type Decision, waitFor } from '../decision.ts';
import { hold } from '../hold.ts';
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
  const unknown = refusals.find((proof) => proof.outcome === 'unknown');
  return unknown === undefined
    ? undefined
    : hold(context, { reason: 'ProvingRefusal', message: `${unknown.what}: ${unknown.message}` });
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
  return {
    kind: 'act',
    effect: { kind: 'enter-stage', stage: 'Done' },
    reason: 'Completed',
    message: `${context.targets.map((target) => target.name).join(', ')}: nothing is left on the old certificate authorities`,
  };
}

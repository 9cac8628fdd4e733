import { type Context, controlPlanes, elapsedSince, isKnown } from '../context.ts';
import { type Decision, waitFor, waitOut } from '../decision.ts';
import { hold } from '../hold.ts';
import type { AuthenticationReading } from '../observation.ts';
import { short } from '../targets/descriptor.ts';
import { conditionOf } from './condition.ts';

/**
 * kube-apiserver only ever adds to extension-apiserver-authentication, so the
 * old CAs stay in it for ever. It is deleted by name with its UID once every API
 * server is proved on the new files (an old one would write the old CA back,
 * even alone), and watched for two minutes after: a machine that starts late
 * undoes it (`measured`).
 */
export function authenticationReset(context: Context): Decision | undefined {
  const reading = context.observation.kubernetes.authentication;
  if (reading === undefined) {
    return waitFor({ reason: 'ResettingAuthentication', message: 'reading extension-apiserver-authentication' });
  }
  if (!reading.known) {
    return hold(context, {
      reason: 'KubernetesUnknown',
      message: `extension-apiserver-authentication: ${reading.message}`,
    });
  }
  const wrong = whatIsWrong(context, reading.value);
  const condition = conditionOf(context, 'AuthenticationReset');
  const message = wrong ?? 'extension-apiserver-authentication holds the new CAs alone';
  if ((condition?.status === 'True') !== (wrong === undefined)) return setCondition(wrong === undefined, message);
  if (wrong !== undefined) return reset(context, reading.value, message);
  const left = context.settings.authenticationWatchMs - elapsedSince(context, condition?.lastTransitionTime);
  if (left <= 0) return undefined;
  return waitOut(
    {
      reason: 'ResettingAuthentication',
      message: `${message}; watching it for ${Math.ceil(left / 1000)} s more`,
    },
    left,
  );
}

const FILES = { requestheader: 'requestheader-client-ca-file', client: 'client-ca-file' } as const;

function reset(context: Context, reading: AuthenticationReading, message: string): Decision {
  // A missing one is written again by whichever API server is first.
  if (!reading.present) return hold(context, { reason: 'ResettingAuthentication', message });
  return {
    kind: 'act',
    effect: { kind: 'reset-authentication', uid: reading.uid },
    reason: 'ResettingAuthentication',
    message: `${message}; deleting it, so that the API servers write it anew`,
  };
}

function setCondition(isReset: boolean, message: string): Decision {
  return {
    kind: 'act',
    effect: { kind: 'update-status' },
    reason: 'ResettingAuthentication',
    message,
    conditions: [
      { type: 'AuthenticationReset', status: isReset ? 'True' : 'False', reason: 'ResettingAuthentication', message },
    ],
  };
}

function whatIsWrong(context: Context, reading: AuthenticationReading): string | undefined {
  if (!reading.present) return 'extension-apiserver-authentication is not there';
  for (const target of context.targets) {
    const expected = context.material[target.name]?.new.fingerprint;
    if (target.published === undefined || expected === undefined) continue;
    const found = reading[target.published];
    // CAs that the owner accepts besides ours belong there: resetting for them would never end.
    const allowed = new Set(
      controlPlanes(context)
        .filter(isKnown)
        .flatMap((machine) => target.accepted(machine.talos.value.pki)),
    );
    if (found.includes(expected) && found.every((each) => allowed.has(each))) continue;
    const others = [...allowed].filter((each) => each !== expected);
    const wanted = others.length === 0 ? `${short(expected)} alone` : [expected, ...others].map(short).join(', ');
    return `${FILES[target.published]} of extension-apiserver-authentication holds ${found.map(short).join(', ') || 'nothing'}; expected ${wanted}`;
  }
  return undefined;
}

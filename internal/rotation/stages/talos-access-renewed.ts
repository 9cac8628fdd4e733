import type { Context } from '../context.ts';
import { type Decision, waitFor } from '../decision.ts';
import { hold } from '../hold.ts';

/** As many pods as a message names. */
const NAMED_PODS = 3;

/**
 * Talos signs the Secrets of `talos.dev` ServiceAccounts anew when the issuing CA
 * changes. One that it did not renew (siderolabs/talos#11569) would shut its
 * programs out in Dropping, so each is looked at before, and named.
 */
export function talosAccessRenewed(context: Context): Decision | undefined {
  const reading = context.observation.kubernetes.talosAccess;
  if (reading === undefined) {
    return waitFor({ reason: 'RenewingTalosAccess', message: 'reading the Secrets of talos.dev ServiceAccounts' });
  }
  if (!reading.known) {
    return hold(context, { reason: 'KubernetesUnknown', message: `talos.dev ServiceAccounts: ${reading.message}` });
  }
  const old = context.material.talos?.old.fingerprint;
  const stale = reading.value.filter((access) => access.issuer !== undefined && access.issuer === old);
  if (stale.length === 0) return undefined;
  const names = stale.map(({ name, pods }) => (pods.length === 0 ? name : `${name} (used by ${podsText(pods)})`));
  return hold(context, {
    reason: 'RenewingTalosAccess',
    message: `Secrets with a certificate of the old Talos CA: ${names.join(', ')}; expected ones of the new CA`,
  });
}

function podsText(pods: readonly string[]): string {
  const more = pods.length - NAMED_PODS;
  return `${pods.slice(0, NAMED_PODS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

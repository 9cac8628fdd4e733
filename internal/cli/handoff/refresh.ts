import type { SecretsBundle } from '../../../pkg/bundle/index.ts';
import { fromKubeconfig } from '../../../pkg/kube/index.ts';
import { type Certificate, issueLeaf, talosAdminProfile, verifyChain } from '../../../pkg/pki/index.ts';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import { type CredentialFiles, talosconfigWith } from './credential-files.ts';

/** A client certificate with less time than this is renewed: a month, so that no long weekend comes in between. */
export const RENEW_BEFORE_MS = 30 * 24 * 3_600_000;

/** Why a client certificate that one of these CAs must have issued is to be renewed; `undefined` where it is fine. */
export function whyRenew(
  certificate: Certificate | undefined,
  authorities: readonly Certificate[],
  now: number,
): string | undefined {
  if (certificate === undefined) return 'there was none';
  const end = new Date(certificate.notAfter).toISOString();
  if (now >= certificate.notAfter) return `it expired at ${end}`;
  // Asked before its end: one of another CA does not work today.
  if (!verifyChain(certificate, authorities, { now, usage: 'client' }).ok)
    return 'it was not issued by the CA of secrets.yaml';
  return certificate.notAfter - now < RENEW_BEFORE_MS ? `it expires at ${end}` : undefined;
}

/** What became of the talosconfig. */
export interface Refreshed {
  /** In words for people; absent where nothing had to be done. */
  readonly said: string | undefined;
  readonly expires: number;
}

/** What the talosconfig is made fit for. */
export interface RefreshOptions {
  readonly files: CredentialFiles;
  readonly bundle: SecretsBundle;
  readonly now: number;
  /** Name and endpoints for a talosconfig that is not there or selects nothing; without them it stays as it is. */
  readonly fallback?: { readonly name: string; readonly endpoints: readonly string[] };
}

/**
 * Renews the administrator's certificate from the bundle's own CA where it
 * expired, is near its end or belongs to another CA, and leaves that CA alone as
 * the trusted one. No CA changes by it: a lost talosconfig is no dead end while
 * secrets.yaml is there.
 */
export async function refreshTalosconfig(options: RefreshOptions): Promise<Refreshed> {
  const { files, bundle, now, fallback } = options;
  const path = files.path('talosconfig');
  const { talosconfig } = await files.read();
  const held = talosconfig === undefined ? undefined : parseTalosconfig(talosconfig, path);
  const selected = held?.contexts[held.context];
  const name = selected === undefined || held === undefined ? fallback?.name : held.context;
  if (name === undefined) return { said: undefined, expires: Number.NaN };
  const ca = bundle.talos.certificate;
  const why = whyRenew(selected?.credentials?.certificate, [ca], now);
  const isTrustRight = selected?.trust.length === 1 && selected.trust[0]?.fingerprint === ca.fingerprint;
  const kept = selected?.credentials;
  if (why === undefined && isTrustRight && kept !== undefined)
    return { said: undefined, expires: kept.certificate.notAfter };
  const credentials =
    why === undefined && kept !== undefined ? kept : await issueLeaf(bundle.talos, talosAdminProfile({ now }));
  const context = { endpoints: fallback?.endpoints ?? [], nodes: [], rest: {}, ...selected, trust: [ca], credentials };
  await files.write({ talosconfig: talosconfigWith(talosconfig, path, name, context) });
  const expires = credentials.certificate.notAfter;
  const until = new Date(expires).toISOString();
  return {
    said:
      why === undefined
        ? `${path} trusts the CA of secrets.yaml alone now`
        : `the administrator's certificate in ${path} was renewed from the CA in secrets.yaml (${why}); it is valid until ${until}`,
    expires,
  };
}

/** Why the kubeconfig in the directory is to be replaced; `undefined` where it is fine. */
export async function whyRenewKubeconfig(
  text: string | undefined,
  bundle: SecretsBundle,
  now: number,
): Promise<string | undefined> {
  if (text === undefined) return 'there was none';
  const { credentials, trust } = await fromKubeconfig(text, { where: 'the kubeconfig in the cluster directory' });
  if (credentials.kind !== 'certificate') return 'it has no client certificate';
  const ca = bundle.kubernetes.certificate;
  const why = whyRenew(credentials.certificate, [ca], now);
  if (why !== undefined) return why;
  if (!trust.some(({ fingerprint }) => fingerprint === ca.fingerprint))
    return 'before, it did not trust the CA of secrets.yaml';
  return trust.length === 1 ? undefined : 'before, it trusted the old CA as well';
}

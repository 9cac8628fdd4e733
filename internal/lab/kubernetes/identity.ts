import { X509Certificate } from 'node:crypto';
import { type Certificate, verifyChain } from '../../../pkg/pki/index.ts';
import type { ApiUser } from '../../simulator/kube/index.ts';

/** What a server knows of who is on the other side of a request. */
export interface Credentials {
  /** The client certificate, verified or not. */
  readonly certificate: Certificate | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The CAs of a server as it has read them. */
export interface ClientCas {
  readonly client: readonly Certificate[];
  /** Of front proxies; empty where none are taken. */
  readonly requestheader: readonly Certificate[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Who somebody is: a user, nobody in particular, or somebody whose credentials are refused. */
export type Identified =
  | { readonly kind: 'user'; readonly user: ApiUser }
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'refused'; readonly why: string };

/** `--requestheader-allowed-names` of Talos. */
const FRONT_PROXY = 'front-proxy-client';

const AUTHENTICATED = 'system:authenticated';

/**
 * Who sends a request, in the order of kube-apiserver: front proxies by their certificate and the headers of the user
 * whom they speak for, then users by their own certificate. One that succeeds is enough; credentials that none of
 * them takes are refused, and so is every bearer token, as a lab issues none.
 */
export function identify({ certificate, headers }: Credentials, cas: ClientCas): Identified {
  if (headers.authorization !== undefined) return { kind: 'refused', why: 'bearer tokens are not issued here' };
  if (certificate === undefined) return { kind: 'anonymous' };
  const { commonName, organizations } = subjectOf(certificate);
  const options = { now: cas.now, usage: 'client' } as const;
  const remote = headers['x-remote-user'];
  if (typeof remote === 'string' && remote !== '' && commonName === FRONT_PROXY) {
    if (verifyChain(certificate, cas.requestheader, options).ok) {
      return { kind: 'user', user: { name: remote, groups: [...groupsOf(headers['x-remote-group']), AUTHENTICATED] } };
    }
  }
  const verified = verifyChain(certificate, cas.client, options);
  if (!verified.ok) return { kind: 'refused', why: verified.message };
  if (commonName === '') return { kind: 'refused', why: 'its certificate names nobody' };
  return { kind: 'user', user: { name: commonName, groups: [...organizations, AUTHENTICATED] } };
}

function groupsOf(header: string | readonly string[] | undefined): readonly string[] {
  // Node joins headers that come more than once.
  const text = typeof header === 'string' ? header : (header ?? []).join(',');
  return text
    .split(',')
    .map((group) => group.trim())
    .filter((group) => group !== '');
}

/** Common name and organizations of a certificate: the user and its groups. */
function subjectOf(certificate: Certificate): {
  readonly commonName: string;
  readonly organizations: readonly string[];
} {
  const { subject } = new X509Certificate(certificate.der).toLegacyObject();
  return { commonName: allOf(subject?.CN)[0] ?? '', organizations: allOf(subject?.O) };
}

function allOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}

const OPEN_PATHS = /^\/(healthz|livez|readyz)(\/|$)|^\/version\/?$/;
const DISCOVERY_PATHS = /^\/(api|apis|openapi)(\/[^/]+){0,2}\/?$/;
const OWN_REVIEWS = /^\/apis\/(authentication|authorization)\.k8s\.io\/v1\/selfsubject\w+$/;

/** Whether a path is for everybody, known or not. */
export function isOpen(path: string): boolean {
  return OPEN_PATHS.test(path);
}

/**
 * Whether a user may do anything at all with a path: administrators everything, everybody who is known the discovery
 * and the questions about himself. Roles and their bindings are not modelled.
 */
export function mayUse({ groups }: ApiUser, path: string): boolean {
  if (groups.includes('system:masters')) return true;
  return (
    isOpen(path) || OWN_REVIEWS.test(path) || (DISCOVERY_PATHS.test(path) && !/^\/api(s\/[^/]+)?\/v1\/\w+/.test(path))
  );
}

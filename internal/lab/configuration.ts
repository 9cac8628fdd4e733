import { createPublicKey } from 'node:crypto';
import { parseAllDocuments } from 'yaml';
import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import {
  type Certificate,
  type CertificateAndKey,
  keyFits,
  keyObjectOf,
  type PrivateKeyPem,
  parsePrivateKey,
  Secret,
  scanCertificates,
} from '../../pkg/pki/index.ts';

/** A mapping as it stands in a configuration; every scalar is text. */
export type Fields = { readonly [key: string]: unknown };

/** A machine configuration as the machine itself reads it: everything, keys included. Nothing of it is ever printed. */
export interface FullConfiguration {
  readonly machine: Fields;
  readonly cluster: Fields;
  /** The fields of a typed document of Talos 1.14; undefined where there is none of that kind. */
  document(kind: string): Fields | undefined;
}

/**
 * Reads a whole configuration. What it says about CAs is read by
 * `pkg/machineconfig`; this is for the rest that a machine shows or uses.
 *
 * @throws Error for text that is no YAML or has no v1alpha1 document, without quoting it
 */
export function readFullConfiguration(text: string): FullConfiguration {
  // Scalars stay text: a token of digits is not a number.
  const documents = parseAllDocuments(text, { schema: 'failsafe', prettyErrors: false });
  const all = (Array.isArray(documents) ? documents : []).map((document) => {
    if (document.errors.length > 0) throw new Error('the configuration is not YAML');
    return asFields(document.toJS());
  });
  const legacy = all.find((each) => each.kind === undefined && each.version === 'v1alpha1');
  if (legacy === undefined) throw new Error('the configuration has no v1alpha1 document');
  return {
    machine: asFields(legacy.machine),
    cluster: asFields(legacy.cluster),
    document: (kind) => all.find((each) => each.kind === kind),
  };
}

/** The mapping in a value; an empty one where it is none. */
export function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The text in a value; an empty one where it is none. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The list in a value; an empty one where it is none. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Text out of a base64 field, as the old document holds PEM. */
export function fromBase64(value: unknown): string {
  return Buffer.from(asText(value), 'base64').toString('utf8');
}

/** The PEM of one CA: certificates (etcd's may hold several) and the key, which workers do not have. */
export interface CaPem {
  readonly certificates: string;
  readonly key: string;
}

/** Where each CA stands: in its document where there is one, which wins as in Talos, else in the old fields. */
export function caPemOf(configuration: FullConfiguration, target: CaTarget): CaPem {
  const { machine, cluster } = configuration;
  switch (target) {
    case 'talos':
      return legacyCa(machine.ca);
    case 'etcd':
      return legacyCa(asFields(cluster.etcd).ca);
    case 'kubernetes':
      return typedCa(configuration.document('KubeAPIServerCAConfig')) ?? legacyCa(cluster.ca);
    case 'kubernetes-aggregator':
      return typedCa(configuration.document('KubeAggregatorCAConfig')) ?? legacyCa(cluster.aggregatorCA);
  }
}

/** The CA that a machine with this configuration signs with; undefined where it has no key, or one that does not fit. */
export function signingCaOf(configuration: FullConfiguration, target: CaTarget): CertificateAndKey | undefined {
  const { certificates, key } = caPemOf(configuration, target);
  const [certificate] = scanCertificates(certificates).certificates;
  if (certificate === undefined || key === '') return undefined;
  const pair = { certificate, key: Secret.of('private-key', key) };
  try {
    return keyFits(certificate, pair.key) ? pair : undefined;
  } catch {
    // A key that cannot be read signs nothing; Talos's own controllers stop at it, too.
    return undefined;
  }
}

/** Every private key of a configuration, those that fit nothing included; what is no key is left out. */
export function privateKeysOf(configuration: FullConfiguration): readonly PrivateKeyPem[] {
  const texts = [...CA_TARGETS.map((target) => caPemOf(configuration, target).key), serviceAccountKeyOf(configuration)];
  return texts.flatMap((text) => {
    try {
      return text === '' ? [] : [parsePrivateKey(text)];
    } catch {
      return [];
    }
  });
}

/** PEM of the key that signs service-account tokens; empty where there is none. */
export function serviceAccountKeyOf(configuration: FullConfiguration): string {
  const document = configuration.document('KubeServiceAccountConfig');
  if (document !== undefined) return asText(asFields(document.issuer).privateKey);
  return fromBase64(asFields(configuration.cluster.serviceAccount).key);
}

/** PEM of the public keys whose tokens are accepted: the signing key's own first. */
export function acceptedServiceAccountKeys(configuration: FullConfiguration): readonly string[] {
  const accepted = asFields(configuration.document('KubeServiceAccountConfig')?.accepted);
  const listed = asList(accepted.publicKeys).map(asText);
  const own = serviceAccountKeyOf(configuration);
  if (own === '') return listed;
  const key = createPublicKey(keyObjectOf(parsePrivateKey(own)));
  return [key.export({ type: 'spki', format: 'pem' }).toString(), ...listed];
}

/** The certificates of a PEM text; empty where there are none. */
export function certificatesOf(pem: string): readonly Certificate[] {
  return pem.trim() === '' ? [] : scanCertificates(pem).certificates;
}

function legacyCa(value: unknown): CaPem {
  const ca = asFields(value);
  return { certificates: fromBase64(ca.crt), key: fromBase64(ca.key) };
}

function typedCa(document: Fields | undefined): CaPem | undefined {
  if (document === undefined) return undefined;
  const ca = asFields(document.issuingCA);
  return { certificates: asText(ca.cert), key: asText(ca.key) };
}

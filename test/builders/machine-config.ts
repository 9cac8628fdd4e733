import type { Change } from '../../pkg/machineconfig/index.ts';
import {
  type CertificateAndKey,
  createEncryptionKey,
  createServiceAccountKey,
  type EncryptionKey,
  type ServiceAccountKey,
} from '../../pkg/pki/index.ts';
import { aCa } from './certificates.ts';

/** One generation of everything that a cluster's configurations hold. */
export interface ClusterMaterial {
  readonly talos: CertificateAndKey;
  readonly kubernetes: CertificateAndKey;
  readonly etcd: CertificateAndKey;
  readonly aggregator: CertificateAndKey;
  readonly encryption: EncryptionKey;
  readonly serviceAccount: ServiceAccountKey;
}

const made = new Map<string, Promise<ClusterMaterial>>();

/**
 * Material by the name of its encryption key, a secretbox key. A name stands for
 * the same material wherever it is asked for: to make it takes longer than most
 * tests that use it.
 */
export function someMaterial(encryptionKeyName = 'key2'): Promise<ClusterMaterial> {
  const known = made.get(encryptionKeyName) ?? makeMaterial(encryptionKeyName);
  made.set(encryptionKeyName, known);
  return known;
}

async function makeMaterial(encryptionKeyName: string): Promise<ClusterMaterial> {
  return {
    talos: await aCa('talos'),
    kubernetes: await aCa('kubernetes'),
    etcd: await aCa('etcd'),
    aggregator: await aCa('kubernetes-aggregator'),
    encryption: createEncryptionKey('secretbox', encryptionKeyName),
    serviceAccount: await createServiceAccountKey({ algorithm: 'ecdsa-p256' }),
  };
}

/** The change of every target from one generation to the next. */
export function changesBetween(before: ClusterMaterial, after: ClusterMaterial): Change[] {
  return [
    { target: 'talos', old: before.talos, new: after.talos },
    { target: 'kubernetes', old: before.kubernetes, new: after.kubernetes },
    { target: 'etcd', old: before.etcd, new: after.etcd },
    { target: 'kubernetes-aggregator', old: before.aggregator, new: after.aggregator },
    { target: 'etcd-encryption', old: before.encryption, new: after.encryption },
    { target: 'service-account', old: before.serviceAccount, new: after.serviceAccount },
  ];
}

/** How a configuration is written; none of it changes what it says. */
export interface WritingStyle {
  readonly indent: 2 | 4;
  readonly eol: '\n' | '\r\n';
  readonly hasLastNewline: boolean;
  readonly hasComments: boolean;
  /** Around base64 and other single words. */
  readonly quote: '' | "'" | '"';
  /** How PEM text stands in typed documents. */
  readonly pem: 'literal' | 'quoted';
  /** CAs of somebody else among the accepted ones. */
  readonly foreign: readonly CertificateAndKey[];
  /** How the list of those stands. */
  readonly list: 'block' | 'flow';
  /** An empty list in brackets where nothing foreign is accepted. */
  readonly hasEmptyLists: boolean;
  /** The typed documents come first. */
  readonly isReversed: boolean;
}

/** As talosctl writes. */
export const PLAIN_STYLE: WritingStyle = {
  indent: 4,
  eol: '\n',
  hasLastNewline: true,
  hasComments: true,
  quote: '',
  pem: 'literal',
  foreign: [],
  list: 'block',
  hasEmptyLists: false,
  isReversed: false,
};

/** What a configuration is made of. */
export interface MachineConfigOptions {
  readonly role?: 'controlplane' | 'worker';
  /** `mixed` has the Kubernetes CA typed and the rest old. */
  readonly shape?: 'legacy' | 'typed' | 'mixed';
  readonly material: ClusterMaterial;
  readonly style?: Partial<WritingStyle>;
}

/** A whole machine configuration with the material in its places. */
export function aMachineConfig({
  role = 'controlplane',
  shape = 'legacy',
  material,
  style,
}: MachineConfigOptions): string {
  const writer = new Writer({ ...PLAIN_STYLE, ...style });
  const old = writer.legacyDocument(role, shape, material);
  const typed = [
    ...(shape === 'legacy' ? [] : writer.kubernetesDocument(role, material)),
    ...(shape === 'typed' ? writer.typedDocuments(role, material) : []),
    ['apiVersion: v1alpha1', 'kind: HostnameConfig', `hostname: "0x10" # kept: 1_000, 0o17, yes, 9007199254740993`],
  ];
  return writer.join(writer.style.isReversed ? [...typed, old] : [old, ...typed]);
}

class Writer {
  readonly style: WritingStyle;

  constructor(style: WritingStyle) {
    this.style = style;
  }

  join(documents: readonly (readonly string[])[]): string {
    const { eol, hasLastNewline } = this.style;
    const text = documents.map((lines) => lines.join(eol)).join(`${eol}---${eol}`);
    return hasLastNewline ? text + eol : text;
  }

  legacyDocument(
    role: 'controlplane' | 'worker',
    shape: 'legacy' | 'typed' | 'mixed',
    material: ClusterMaterial,
  ): string[] {
    const isControlPlane = role === 'controlplane';
    const { foreign } = this.style;
    return [
      'version: v1alpha1',
      ...this.#comment(0, 'everything about the machine'),
      'machine:',
      ...this.#in(1, `type: ${role}`, 'token: abcdef.0123456789abcdef'),
      ...this.#legacyCa(1, 'ca', material.talos, isControlPlane),
      ...this.#legacyList(1, foreign),
      ...this.#comment(1, 'not ours'),
      ...this.#in(1, 'certSANs: [ 10.0.0.1,  "10.0.0.2" ]', 'kubelet:'),
      ...this.#in(2, 'extraArgs:'),
      ...this.#in(3, "feature-gates: 'A=true'   # kept"),
      'cluster:',
      ...(shape === 'typed' ? [] : this.#in(1, 'id: c2VlZA==', 'secret: c2VjcmV0')),
      ...(shape === 'typed'
        ? []
        : [...this.#in(1, 'controlPlane:'), ...this.#in(2, 'endpoint: https://10.0.0.9:6443')]),
      ...(shape === 'typed' ? [] : this.#in(1, 'clusterName: seed')),
      ...this.#in(1, 'token: fedcba.fedcba9876543210'),
      ...(isControlPlane && shape !== 'typed' ? this.#oldSecrets(material) : []),
      ...(shape === 'legacy' ? this.#legacyCa(1, 'ca', material.kubernetes, isControlPlane) : []),
      ...(shape === 'legacy' ? this.#legacyList(1, foreign) : []),
      ...(isControlPlane && shape !== 'typed' ? this.#legacyCa(1, 'aggregatorCA', material.aggregator, true) : []),
      ...(isControlPlane ? [...this.#in(1, 'etcd:'), ...this.#legacyCa(2, 'ca', material.etcd, true)] : []),
    ];
  }

  kubernetesDocument(role: 'controlplane' | 'worker', { kubernetes }: ClusterMaterial): string[][] {
    const { foreign } = this.style;
    if (role === 'worker') {
      return [
        [
          'apiVersion: v1alpha1',
          'kind: KubeAPIServerCAConfig',
          ...this.#typedList('acceptedCAs', [kubernetes, ...foreign]),
        ],
      ];
    }
    return [
      [
        'apiVersion: v1alpha1',
        'kind: KubeAPIServerCAConfig',
        ...this.#typedCa(kubernetes),
        ...this.#typedList('acceptedCAs', foreign),
      ],
    ];
  }

  typedDocuments(role: 'controlplane' | 'worker', material: ClusterMaterial): string[][] {
    const cluster = [
      'apiVersion: v1alpha1',
      'kind: KubeClusterConfig',
      'clusterName: seed',
      'endpoint: https://10.0.0.9:6443',
    ];
    const identity = [
      'apiVersion: v1alpha1',
      'kind: DiscoveryIdentityConfig',
      'clusterID: c2VlZA==',
      'clusterSecret: c2VjcmV0',
    ];
    if (role === 'worker') return [cluster, identity];
    const { name, secret, provider } = material.encryption;
    return [
      cluster,
      identity,
      ['kind: KubeAggregatorCAConfig', 'apiVersion: v1alpha1', ...this.#typedCa(material.aggregator)],
      [
        'apiVersion: v1alpha1',
        'kind: KubeEtcdEncryptionConfig',
        'config:',
        ...this.#in(1, 'resources:'),
        ...this.#in(2, '- providers:'),
        ...this.#in(3, `- ${provider}:`),
        ...this.#in(5, 'keys:'),
        ...this.#in(6, `- name: ${name}`, `  secret: ${this.#word(secret.expose())}`),
        ...this.#in(3, '- identity: {}'),
        ...this.#in(2, '  resources:'),
        ...this.#in(3, '- secrets'),
      ],
      [
        'apiVersion: v1alpha1',
        'kind: KubeServiceAccountConfig',
        'issuer:',
        ...this.#in(1, ...this.#pem('privateKey: ', material.serviceAccount.privateKey.expose())),
        ...this.#in(1, 'issuerURL: https://10.0.0.9:6443'),
      ],
    ];
  }

  #oldSecrets({ encryption, serviceAccount }: ClusterMaterial): string[] {
    return [
      ...this.#in(1, `secretboxEncryptionSecret: ${this.#word(encryption.secret.expose())}`),
      ...this.#in(1, 'serviceAccount:'),
      ...this.#in(2, `key: ${this.#word(base64(serviceAccount.privateKey.expose()))}`),
    ];
  }

  #legacyCa(level: number, key: string, ca: CertificateAndKey, hasKey: boolean): string[] {
    return [
      ...this.#comment(level, `the CA of ${key}`),
      ...this.#in(level, `${key}:`),
      ...this.#in(level + 1, `crt: ${this.#word(base64(ca.certificate.pem))}`),
      ...this.#in(level + 1, `key: ${hasKey ? this.#word(base64(ca.key.expose())) : '""'}`),
    ];
  }

  #legacyList(level: number, cas: readonly CertificateAndKey[]): string[] {
    const words = cas.map(({ certificate }) => this.#word(base64(certificate.pem)));
    if (words.length === 0) return this.style.hasEmptyLists ? this.#in(level, 'acceptedCAs: []') : [];
    if (this.style.list === 'flow') {
      return this.#in(level, `acceptedCAs: [ ${words.map((word) => `{crt: ${word}}`).join(' , ')} ]`);
    }
    return [
      ...this.#in(level, 'acceptedCAs:'),
      ...words.flatMap((word) => [
        ...this.#comment(level + 1, 'a foreign CA'),
        ...this.#in(level + 1, `- crt: ${word}`),
      ]),
    ];
  }

  #typedCa({ certificate, key }: CertificateAndKey): string[] {
    return [
      ...this.#comment(0, 'the CA that signs'),
      'issuingCA:',
      ...this.#in(1, ...this.#pem('cert: ', certificate.pem)),
      ...this.#in(1, ...this.#pem('key: ', key.expose())),
    ];
  }

  #typedList(key: string, cas: readonly CertificateAndKey[]): string[] {
    if (cas.length === 0) return this.style.hasEmptyLists ? [`${key}: []`] : [];
    if (this.style.list === 'flow') {
      return [`${key}: [ ${cas.map(({ certificate }) => JSON.stringify(certificate.pem)).join(' , ')} ]`];
    }
    return [`${key}:`, ...cas.flatMap(({ certificate }) => this.#in(1, ...this.#pem('- ', certificate.pem)))];
  }

  #pem(before: string, pem: string): string[] {
    if (this.style.pem === 'quoted') return [before + JSON.stringify(pem)];
    const pad = ' '.repeat(this.style.indent);
    const header = this.style.hasComments && before !== '- ' ? '| # keep me' : '|';
    return [
      `${before}${header}`,
      ...pem
        .trimEnd()
        .split('\n')
        .map((line) => pad + line),
    ];
  }

  #word(text: string): string {
    return this.style.quote + text + this.style.quote;
  }

  #comment(level: number, text: string): string[] {
    return this.style.hasComments ? this.#in(level, `# ${text}`) : [];
  }

  #in(level: number, ...lines: readonly string[]): string[] {
    return lines.map((line) => ' '.repeat(level * this.style.indent) + line);
  }
}

/** A typed configuration with other encryption rules, written as JSON in the place of the builder's. */
export function withEncryptionRules(config: string, rules: readonly object[]): string {
  const start = config.indexOf('config:\n', config.indexOf('kind: KubeEtcdEncryptionConfig'));
  const end = config.indexOf('---\napiVersion', start);
  return `${config.slice(0, start)}config: ${JSON.stringify({ resources: rules })}\n${config.slice(end)}`;
}

/** Base64 of text, as the old document holds PEM. */
export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

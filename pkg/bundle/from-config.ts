import { parseAllDocuments } from 'yaml';
import {
  type CertificateAndKey,
  parseCertificates,
  parsePrivateKey,
  parseServiceAccountKey,
  Secret,
} from '../pki/index.ts';
import { BundleError } from './error.ts';
import type { BundleParts } from './parts.ts';

type Tree = Readonly<Record<string, unknown>>;

/**
 * Takes every secret of a cluster out of the configuration of one of its control
 * planes, in the single-document shape, the typed documents of Talos 1.14, or a
 * mix of both. Only what the configuration signs with is taken, never what it
 * merely accepts.
 *
 * @param path what people call the configuration, for messages: `the configuration of cp1`
 * @throws {BundleError} naming the field: `missing`, `malformed`, or `unsupported` for a worker and in the middle of a rotation
 */
export function bundlePartsOf(config: string, path: string): BundleParts {
  const source = createSource(config, path);
  if (source.text('machine.type') !== 'controlplane') {
    throw new BundleError(
      'unsupported',
      { path, field: 'machine.type' },
      'is not controlplane; only control planes hold the keys of the certificate authorities',
    );
  }
  return {
    clusterId: source.need('cluster.id', 'DiscoveryIdentityConfig.clusterID'),
    clusterSecret: Secret.of('cluster-secret', source.need('cluster.secret', 'DiscoveryIdentityConfig.clusterSecret')),
    bootstrapToken: Secret.of('token', source.need('cluster.token')),
    trustdToken: Secret.of('token', source.need('machine.token')),
    ...encryptionOf(source),
    talos: source.authority('machine.ca'),
    kubernetes: source.authority('cluster.ca', 'KubeAPIServerCAConfig.issuingCA'),
    etcd: source.authority('cluster.etcd.ca'),
    aggregator: source.authority('cluster.aggregatorCA', 'KubeAggregatorCAConfig.issuingCA'),
    serviceAccount: parseServiceAccountKey(
      Secret.of(
        'private-key',
        source.pem('cluster.serviceAccount.key') ?? source.need('KubeServiceAccountConfig.issuer.privateKey'),
      ),
      `${path}: the service-account key`,
    ),
  };
}

interface Source {
  /** The text at a dotted path, whose first part is `machine`, `cluster` or the kind of a document. */
  text(path: string): string | undefined;
  /** The first of the paths that holds a text. */
  need(...paths: readonly string[]): string;
  /** A base64 field of the old shape, decoded. */
  pem(path: string): string | undefined;
  tree(path: string): Tree | undefined;
  /** Certificate and key at the first of the paths that is there: `crt` in base64, or `cert` as text. */
  authority(...paths: readonly string[]): CertificateAndKey;
}

function createSource(config: string, file: string): Source {
  const root = readDocuments(config, file);
  const at = (path: string): unknown =>
    path.split('.').reduce<unknown>((node, key) => (isTree(node) ? node[key] : undefined), root);
  const text = (path: string): string | undefined => {
    const value = at(path);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const decoded = (path: string): string | undefined => {
    const value = text(path);
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
  };
  const missing = (paths: readonly string[]): BundleError =>
    new BundleError('missing', { path: file, field: paths.join(' or ') }, 'is not there');
  return {
    text,
    pem: decoded,
    tree: (path) => {
      const value = at(path);
      return isTree(value) ? value : undefined;
    },
    need(...paths) {
      const found = paths.map(text).find((value) => value !== undefined);
      if (found === undefined) throw missing(paths);
      return found;
    },
    authority(...paths) {
      for (const path of paths) {
        const certificates = text(`${path}.cert`) ?? decoded(`${path}.crt`);
        const key = text(`${path}.cert`) === undefined ? decoded(`${path}.key`) : text(`${path}.key`);
        if (certificates === undefined || key === undefined) continue;
        const [certificate, another] = parseCertificates(certificates, `${file}: ${path}`);
        if (certificate !== undefined && another === undefined)
          return { certificate, key: parsePrivateKey(Secret.of('private-key', key), `${file}: ${path}`) };
        throw new BundleError(
          'unsupported',
          { path: file, field: path },
          'holds more than one certificate: the machine is in the middle of a rotation',
        );
      }
      throw missing(paths);
    },
  };
}

/** All documents as one tree: the old one at its top, each typed one below its kind. */
function readDocuments(config: string, path: string): Tree {
  const documents = parseAllDocuments(config, { schema: 'failsafe', prettyErrors: false });
  const root: Record<string, unknown> = {};
  for (const document of 'empty' in documents ? [] : documents) {
    // Not the library's message: it may quote the line, which holds a key.
    const [error] = document.errors;
    if (error !== undefined)
      throw new BundleError('malformed', { path, line: lineOf(config, error.pos[0]) }, 'is not valid YAML');
    const value: unknown = document.toJS();
    if (!isTree(value)) continue;
    if (typeof value.kind === 'string') root[value.kind] ??= value;
    else Object.assign(root, value);
  }
  return root;
}

/** Lines are counted from one. */
function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** The keys that encrypt Secrets in etcd, out of the old fields or the typed document. */
function encryptionOf(source: Source): Pick<BundleParts, 'secretboxEncryptionSecret' | 'aescbcEncryptionSecret'> {
  const typed = typedKeys(source);
  const secretbox = source.text('cluster.secretboxEncryptionSecret') ?? typed.secretbox;
  const aescbc = source.text('cluster.aescbcEncryptionSecret') ?? typed.aescbc;
  return {
    ...(secretbox === undefined ? {} : { secretboxEncryptionSecret: Secret.of('encryption-key', secretbox) }),
    ...(aescbc === undefined ? {} : { aescbcEncryptionSecret: Secret.of('encryption-key', aescbc) }),
  };
}

/** The first key of each provider: the one that writes, where that provider is the first. */
function typedKeys(source: Source): { readonly secretbox?: string; readonly aescbc?: string } {
  const config = source.tree('KubeEtcdEncryptionConfig.config');
  const found: { secretbox?: string; aescbc?: string } = {};
  for (const rule of listOf(config?.resources)) {
    for (const provider of listOf(rule.providers)) {
      for (const name of ['secretbox', 'aescbc'] as const) {
        const [first] = isTree(provider[name]) ? listOf(provider[name].keys) : [];
        if (typeof first?.secret === 'string') found[name] ??= first.secret;
      }
    }
  }
  return found;
}

function listOf(value: unknown): Tree[] {
  return Array.isArray(value) ? value.filter(isTree) : [];
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

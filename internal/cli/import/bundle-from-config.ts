import { parseAllDocuments } from 'yaml';
import type { BundleParts } from '../../../pkg/bundle/index.ts';
import {
  type CertificateAndKey,
  parseCertificates,
  parsePrivateKey,
  parseServiceAccountKey,
  Secret,
} from '../../../pkg/pki/index.ts';
import { CliError } from '../cli-error.ts';

type Tree = Readonly<Record<string, unknown>>;

/**
 * Takes every secret of a cluster out of the configuration of one of its control
 * planes, in the single-document shape, the typed documents of Talos 1.14, or a
 * mix of both. Only what the configuration signs with is taken, never what it
 * merely accepts.
 *
 * @param where the machine, for messages
 * @throws {CliError} naming the field that is missing; `refused` for a worker and in the middle of a rotation
 */
export function bundlePartsOf(config: string, where: string): BundleParts {
  const source = createSource(config, where);
  if (source.text('machine.type') !== 'controlplane') {
    throw new CliError(
      'refused',
      `${where} is no control plane; only control planes hold the keys of the certificate authorities`,
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
      `${where}: the service-account key`,
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

function createSource(config: string, where: string): Source {
  const root = readDocuments(config, where);
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
  const missing = (paths: readonly string[]): CliError =>
    new CliError(
      'refused',
      `the configuration of ${where} has no ${paths.join(' and no ')}`,
      'Import from secrets.yaml instead (--secrets).',
    );
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
        const [certificate, another] = parseCertificates(certificates, `${where}: ${path}`);
        if (certificate !== undefined && another === undefined)
          return { certificate, key: parsePrivateKey(Secret.of('private-key', key), `${where}: ${path}`) };
        throw new CliError(
          'refused',
          `${path} in the configuration of ${where} holds more than one certificate: it is in the middle of a rotation`,
          'Finish the rotation first, or import from the secrets.yaml of before (--secrets).',
        );
      }
      throw missing(paths);
    },
  };
}

/** All documents as one tree: the old one at its top, each typed one below its kind. */
function readDocuments(config: string, where: string): Tree {
  const documents = parseAllDocuments(config, { schema: 'failsafe', prettyErrors: false });
  const root: Record<string, unknown> = {};
  for (const document of 'empty' in documents ? [] : documents) {
    // Not the library's message: it may quote the line, which holds a key.
    if (document.errors.length > 0) throw new CliError('refused', `the configuration of ${where} is not valid YAML`);
    const value: unknown = document.toJS();
    if (!isTree(value)) continue;
    if (typeof value.kind === 'string') root[value.kind] ??= value;
    else Object.assign(root, value);
  }
  return root;
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

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { type Certificate, parseCertificates, parsePrivateKey, Secret } from '../pki/index.ts';
import type { Credentials, KubeClientOptions } from './client.ts';
import { pluginCredentials } from './plugin.ts';

/** A kubeconfig that cannot be used, with the field and what to do. */
export class KubeconfigError extends Error {
  readonly where: string;

  constructor(where: string, problem: string, cause?: unknown) {
    super(`${where}: ${problem}`, { cause });
    this.name = 'KubeconfigError';
    this.where = where;
  }
}

/** How a kubeconfig is read. */
export interface KubeconfigOptions {
  /** The API server to bind to instead of the one in the file: a machine's own address, `https://ip:6443`. */
  readonly server?: string | undefined;
  /** The context to use instead of `current-context`. */
  readonly context?: string | undefined;
  /** Name of the file, for messages; "the kubeconfig" when absent. */
  readonly where?: string | undefined;
  /** Folder that relative paths in the file start from. A file that names other files is refused without it. */
  readonly directory?: string | undefined;
}

interface ClusterEntry {
  readonly server?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'certificate-authority'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
}

interface UserEntry {
  readonly 'client-certificate-data'?: string;
  readonly 'client-key-data'?: string;
  readonly 'client-certificate'?: string;
  readonly 'client-key'?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly exec?: { readonly command?: string };
  readonly 'auth-provider'?: { readonly name?: string };
  readonly username?: string;
  readonly as?: string;
}

interface ContextEntry {
  readonly cluster?: string;
  readonly user?: string;
}

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?: readonly { readonly name: string; readonly context?: ContextEntry }[];
  readonly clusters?: readonly { readonly name: string; readonly cluster?: ClusterEntry }[];
  readonly users?: readonly { readonly name: string; readonly user?: UserEntry }[];
}

/**
 * What a kubeconfig says, ready for `createKubeClient`. `certificate-authority-data` may hold several CAs: the kubeconfig
 * that a Talos machine issues during a rotation holds the old and the new one, and every one of them is trusted.
 *
 * Refused, each with its reason: no CA, `insecure-skip-tls-verify`, `proxy-url` (evidence comes off the machine itself),
 * user name with password, and impersonation. Throws a KubeconfigError.
 */
export async function fromKubeconfig(text: string, options: KubeconfigOptions = {}): Promise<KubeClientOptions> {
  const where = options.where ?? 'the kubeconfig';
  const { cluster, user, userName } = select(text, where, options.context);
  const server = options.server ?? cluster.server;
  if (server === undefined) throw new KubeconfigError(where, 'the cluster has no server');
  return {
    server: new URL(server).origin,
    trust: await readTrust(cluster, where, options.directory),
    credentials: readCredentials(text, user, {
      where,
      userName,
      context: options.context,
      directory: options.directory,
    }),
    ...(cluster['tls-server-name'] === undefined ? {} : { serverName: cluster['tls-server-name'] }),
  };
}

function select(text: string, where: string, wanted: string | undefined) {
  const config = readYaml(text, where);
  const contextName = wanted ?? config['current-context'] ?? '';
  const context = named(config.contexts, contextName, { where, what: 'context' }).context ?? {};
  const cluster = named(config.clusters, context.cluster ?? '', { where, what: 'cluster' }).cluster ?? {};
  const userName = context.user ?? '';
  return { cluster, userName, user: named(config.users, userName, { where, what: 'user' }).user ?? {} };
}

function readYaml(text: string, where: string): Kubeconfig {
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    // The message of a YAML error quotes the line, and the line may be a key.
    const line = (cause as { linePos?: readonly { line: number }[] }).linePos?.[0]?.line;
    throw new KubeconfigError(where, `not valid YAML${line === undefined ? '' : `, line ${line}`}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new KubeconfigError(where, 'not a kubeconfig: a mapping with clusters, contexts and users is expected');
  }
  const parts = value as Readonly<Record<string, unknown>>;
  // kubectl writes null where a list is empty.
  const odd = ['clusters', 'contexts', 'users'].find((part) => !Array.isArray(parts[part] ?? []));
  if (odd !== undefined) throw new KubeconfigError(where, `not a kubeconfig: ${odd} is no list`);
  return value;
}

function named<T extends { readonly name: string }>(
  entries: readonly T[] | undefined,
  name: string,
  about: { readonly where: string; readonly what: string },
): T {
  const found = entries?.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const known = entries?.map((entry) => `"${entry.name}"`).join(', ') ?? '';
  throw new KubeconfigError(about.where, `no ${about.what} named "${name}"; it has ${known === '' ? 'none' : known}`);
}

async function readTrust(cluster: ClusterEntry, where: string, directory: string | undefined): Promise<Certificate[]> {
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw new KubeconfigError(where, 'insecure-skip-tls-verify is refused; give the CA as certificate-authority-data');
  }
  if (cluster['proxy-url'] !== undefined) {
    throw new KubeconfigError(where, 'proxy-url is refused; the API server must be reachable directly');
  }
  const data = cluster['certificate-authority-data'];
  if (data !== undefined) return [...parseCertificates(decode(data), `${where}, certificate-authority-data`)];
  const path = cluster['certificate-authority'];
  if (path === undefined) throw new KubeconfigError(where, 'the cluster has no certificate-authority-data');
  return [...parseCertificates(await readNamedFile(path, where, directory), path)];
}

function readCredentials(
  text: string,
  user: UserEntry,
  about: { where: string; userName: string; context: string | undefined; directory: string | undefined },
): Credentials {
  const { where, userName, directory } = about;
  if (user.username !== undefined) {
    throw new KubeconfigError(
      where,
      `user "${userName}" has a user name and password, which API servers no longer take`,
    );
  }
  if (user.as !== undefined)
    throw new KubeconfigError(where, `user "${userName}" impersonates "${user.as}"; use its own rights`);
  const elsewhere =
    user.exec ?? user['auth-provider'] ?? user.tokenFile ?? user['client-certificate'] ?? user['client-key'];
  if (elsewhere !== undefined) {
    const needsFolder = user['client-certificate'] ?? user['client-key'] ?? user.tokenFile;
    if (needsFolder !== undefined && directory === undefined) {
      throw new KubeconfigError(
        where,
        `user "${userName}" names the file ${needsFolder}; its folder is not known here`,
      );
    }
    return pluginCredentials(text, { where, userName, context: about.context, directory });
  }
  if (user.token !== undefined) return { kind: 'token', token: Secret.of('bearer-token', user.token) };
  const certificateData = user['client-certificate-data'];
  const keyData = user['client-key-data'];
  if (certificateData === undefined || keyData === undefined) {
    throw new KubeconfigError(
      where,
      `user "${userName}" has no credentials: no certificate with key, no token, no plugin`,
    );
  }
  const [certificate, ...intermediates] = parseCertificates(
    decode(certificateData),
    `${where}, client-certificate-data`,
  );
  if (certificate === undefined) throw new KubeconfigError(where, `client-certificate-data of "${userName}" is empty`);
  return {
    kind: 'certificate',
    certificate,
    intermediates,
    key: parsePrivateKey(Secret.of('private-key', decode(keyData)), `${where}, client-key-data`),
  };
}

async function readNamedFile(path: string, where: string, directory: string | undefined): Promise<string> {
  if (directory === undefined)
    throw new KubeconfigError(where, `it names the file ${path}; its folder is not known here`);
  try {
    return await readFile(resolve(directory, path), 'utf8');
  } catch (cause) {
    throw new KubeconfigError(where, `cannot read ${path}, which it names`, cause);
  }
}

function decode(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

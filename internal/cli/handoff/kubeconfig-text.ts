import { type Certificate, type CertificateAndKey, Secret, writeCertificates } from '../../../pkg/pki/index.ts';
import { CliError } from '../cli-error.ts';
import { firstSuffix } from './suffix.ts';

/** One named entry of a kubeconfig. */
interface Entry {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** A kubeconfig as a tree; whatever we do not know is kept as it is. */
interface Tree {
  readonly [field: string]: unknown;
  readonly clusters: readonly Entry[];
  readonly contexts: readonly Entry[];
  readonly users: readonly Entry[];
}

/** Text of a kubeconfig; it holds a private key. */
export type KubeconfigText = Secret<'kubeconfig'>;

/**
 * The same kubeconfig with another certificate for its user, other trusted CAs
 * for its cluster, or both. It must have one cluster and one user, as the one
 * that a Talos machine issues.
 */
export async function withMaterial(
  text: KubeconfigText,
  material: { readonly trust?: readonly Certificate[]; readonly credentials?: CertificateAndKey },
): Promise<KubeconfigText> {
  const tree = await readTree(text, 'the kubeconfig that the machine issued');
  const { trust, credentials } = material;
  const [cluster] = tree.clusters;
  const [user] = tree.users;
  if (cluster === undefined || user === undefined || tree.clusters.length > 1 || tree.users.length > 1) {
    throw new CliError(
      'unreachable',
      `the kubeconfig that the machine issued has ${tree.clusters.length} clusters and ${tree.users.length} users; expected one of each`,
    );
  }
  return writeTree({
    ...tree,
    clusters: [
      trust === undefined
        ? cluster
        : withFields(cluster, 'cluster', { 'certificate-authority-data': encode(writeCertificates(trust)) }),
    ],
    users: [
      credentials === undefined
        ? user
        : withFields(user, 'user', {
            'client-certificate-data': encode(credentials.certificate.pem),
            'client-key-data': encode(credentials.key.expose()),
          }),
    ],
  });
}

/**
 * Puts the entries of `added` into `into`, by name: an entry of the same name is
 * replaced, all others stay. The current context moves to the one of `added`.
 */
export async function mergeKubeconfig(
  into: KubeconfigText | undefined,
  added: KubeconfigText,
  where: string,
): Promise<KubeconfigText> {
  if (into === undefined) return added;
  const [old, next] = await Promise.all([readTree(into, where), readTree(added, 'the new kubeconfig')]);
  return writeTree({
    ...old,
    clusters: mergeEntries(old.clusters, next.clusters),
    contexts: mergeEntries(old.contexts, next.contexts),
    users: mergeEntries(old.users, next.users),
    'current-context': next['current-context'] ?? old['current-context'],
  });
}

/** How {@link addKubeconfig} tells whose an entry is. */
export interface AddOptions {
  /** Name of the file that is added to, for messages. */
  readonly where: string;
  /** Whether a cluster that trusts these certificates, in PEM, is the one of the kubeconfig that is added. */
  isOurs(authority: string): boolean;
}

/** A kubeconfig with another one added. */
export interface Added {
  readonly text: KubeconfigText;
  /** The selected context: the one that was added. */
  readonly context: string;
  /** What was selected before; empty where nothing was. */
  readonly before: string;
}

/**
 * Adds a kubeconfig of one cluster, one user and one context to one that may hold
 * other clusters. Entries of the same names are replaced where they are this
 * cluster's; otherwise all three get the first suffix, `-1`, `-2`, …, under which no
 * entry of another cluster is lost. The current context moves to the one that was added.
 */
export async function addKubeconfig(
  into: KubeconfigText | undefined,
  added: KubeconfigText,
  { where, isOurs }: AddOptions,
): Promise<Added> {
  const next = await readTree(added, 'the new kubeconfig');
  const selected = String(next['current-context'] ?? '');
  if (into === undefined) return { text: added, context: selected, before: '' };
  const old = await readTree(into, where);
  const suffix = firstSuffix((candidate) => isFree(old, suffixed(next, candidate), isOurs));
  const renamed = suffixed(next, suffix);
  const text = await writeTree({
    ...old,
    clusters: mergeEntries(old.clusters, renamed.clusters),
    contexts: mergeEntries(old.contexts, renamed.contexts),
    users: mergeEntries(old.users, renamed.users),
    'current-context': `${selected}${suffix}`,
  });
  return { text, context: `${selected}${suffix}`, before: String(old['current-context'] ?? '') };
}

/** The same entries under names with a suffix, and contexts that refer to them. */
function suffixed(tree: Tree, suffix: string): Tree {
  const rename = (entry: Entry): Entry => ({ ...entry, name: `${entry.name}${suffix}` });
  return {
    ...tree,
    clusters: tree.clusters.map(rename),
    users: tree.users.map(rename),
    contexts: tree.contexts.map((entry) => {
      const { cluster, user } = contextOf(entry);
      return withFields(rename(entry), 'context', { cluster: `${cluster}${suffix}`, user: `${user}${suffix}` });
    }),
  };
}

/** Whether these names are not taken in `old`, or taken by the same cluster, its contexts and their users. */
function isFree(old: Tree, next: Tree, isOurs: AddOptions['isOurs']): boolean {
  const names = (entries: readonly Entry[]) => new Set(entries.map(({ name }) => name));
  const clusters = names(next.clusters);
  const ours = new Set(
    old.clusters.filter((entry) => clusters.has(entry.name) && isOurs(authorityOf(entry))).map(({ name }) => name),
  );
  const foreign = old.contexts
    .map((entry) => ({ ...contextOf(entry), name: entry.name }))
    .filter(({ cluster }) => !ours.has(cluster));
  const contexts = names(next.contexts);
  const users = names(next.users);
  const ownUsers = new Set(
    old.contexts.map(contextOf).flatMap(({ cluster, user }) => (ours.has(cluster) ? [user] : [])),
  );
  return (
    old.clusters.every(({ name }) => !clusters.has(name) || ours.has(name)) &&
    old.users.every(({ name }) => !users.has(name) || ownUsers.has(name)) &&
    foreign.every(({ name, user }) => !contexts.has(name) && !users.has(user))
  );
}

function contextOf(entry: Entry): { readonly cluster: string; readonly user: string } {
  const { cluster, user } = isRecord(entry.context) ? entry.context : {};
  return { cluster: String(cluster ?? ''), user: String(user ?? '') };
}

/** The CAs of a cluster's entry as PEM; empty where it holds none itself. */
function authorityOf(entry: Entry): string {
  const data = isRecord(entry.cluster) ? entry.cluster['certificate-authority-data'] : undefined;
  return typeof data === 'string' ? Buffer.from(data, 'base64').toString('utf8') : '';
}

function mergeEntries(old: readonly Entry[], next: readonly Entry[]): Entry[] {
  const names = new Set(old.map((entry) => entry.name));
  return [
    ...old.map((entry) => next.find((other) => other.name === entry.name) ?? entry),
    ...next.filter((entry) => !names.has(entry.name)),
  ];
}

function withFields(entry: Entry, part: string, fields: Readonly<Record<string, string>>): Entry {
  const held = entry[part];
  return { ...entry, [part]: { ...(isRecord(held) ? held : {}), ...fields } };
}

async function readTree(text: KubeconfigText, where: string): Promise<Tree> {
  const { parseDocument } = await import('../yaml.ts');
  const document = parseDocument(text.expose());
  const [error] = document.errors;
  // The message of a YAML error quotes the line, and the line may be a key.
  if (error !== undefined) {
    throw new CliError('directory', `${where} is not YAML (line ${error.linePos?.[0].line ?? '?'}: ${error.code})`);
  }
  const value: unknown = document.toJS();
  if (!isRecord(value)) throw new CliError('directory', `${where} is not a kubeconfig: it is no mapping`);
  return {
    ...value,
    clusters: entriesOf(value.clusters),
    contexts: entriesOf(value.contexts),
    users: entriesOf(value.users),
  };
}

async function writeTree(tree: Tree): Promise<KubeconfigText> {
  const { stringify } = await import('../yaml.ts');
  return Secret.of('kubeconfig', stringify(tree, { lineWidth: 0 }));
}

function entriesOf(value: unknown): Entry[] {
  return Array.isArray(value)
    ? value.filter((each): each is Entry => isRecord(each) && typeof each.name === 'string')
    : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function encode(pem: string): string {
  return Buffer.from(pem, 'utf8').toString('base64');
}

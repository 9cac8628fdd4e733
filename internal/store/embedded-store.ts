import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type AgeCredentials, openBundle } from '../../pkg/bundle/index.ts';
import { type Clock, createSystemClock } from '../../pkg/clock/index.ts';
import { addressOfEndpoint, parseTalosconfig } from '../../pkg/talos/index.ts';
import { clearTemporaries, removeFile, replaceFile } from './atomic-file.ts';
import { appendAuditEntry, parseAudit } from './audit.ts';
import {
  type BundleFiles,
  readBundleFile,
  readClusterState,
  removeRecordFile,
  replaceBundleFile,
  settlePreviousFiles,
  writeRecordFile,
} from './bundle-files.ts';
import { fromFileSystem, StoreError } from './error.ts';
import { createNodeFileSystem, type StoreFileSystem } from './file-system.ts';
import { type HeldLock, isHeldLock, type LockMeans, type LockOwner, lockOwner, tryLock } from './lock.ts';
import { tightenModes } from './modes.ts';
import {
  createOperation,
  deleteOperation,
  listOperations,
  type OperationFiles,
  readOperation,
  updateOperation,
} from './operation-files.ts';
import { createProcesses, type Processes } from './process-identity.ts';
import type { ClusterStore } from './store.ts';
import { createWriteLock, type WriteLock } from './write-lock.ts';

/** How to open the folder of a cluster. */
export interface EmbeddedStoreOptions {
  /** The folder that holds `secrets.yaml` and `talosconfig`. */
  readonly directory: string;
  /** What opens an encrypted bundle. */
  readonly credentials?: AgeCredentials;
  readonly clock?: Clock;
  /** For tests: the file system, the processes of the host, the user that we are, and how bundles are opened. */
  readonly files?: StoreFileSystem;
  readonly processes?: Processes;
  readonly uid?: number;
  readonly open?: typeof openBundle;
  readonly random?: (length: number) => Uint8Array;
}

/** A cluster folder on this machine. */
export interface EmbeddedStore extends ClusterStore {
  readonly directory: string;
  /** File modes that were too open and have been tightened, one sentence each. */
  readonly repairs: readonly string[];
  /**
   * Takes the lock of the cluster: one process acts on it at a time. Clears what a killed process left half-written.
   * `takeOver` takes it from an owner of which nobody here can tell whether it lives: on another host, or on a system
   * that does not say when a process began.
   * Errors: `locked`, naming the owner.
   */
  acquireLock(options: { readonly purpose: string; readonly takeOver?: boolean }): Promise<HeldLock>;
  /** Idempotent. */
  releaseLock(): Promise<void>;
  /** Who holds the lock, this process included. */
  lockOwner(): Promise<LockOwner | undefined>;
}

/**
 * Opens the folder of a cluster. Only reads, except that modes that let others read are tightened.
 * Errors: `missing`, `foreign` (another user's files, symbolic links).
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const files = options.files ?? createNodeFileSystem();
  const uid = options.uid ?? process.getuid?.();
  const repairs = await tightenModes(files, { directory: options.directory, uid });
  return new DirectoryStore(options, { files, repairs });
}

class DirectoryStore implements EmbeddedStore {
  readonly directory: string;
  readonly repairs: readonly string[];
  readonly #files: StoreFileSystem;
  readonly #means: LockMeans;
  readonly #writeLock: WriteLock;
  readonly #bundles: BundleFiles;
  readonly #operations: OperationFiles;
  #lock: HeldLock | undefined;

  constructor(options: EmbeddedStoreOptions, opened: { files: StoreFileSystem; repairs: readonly string[] }) {
    const { directory, clock = createSystemClock(), processes = createProcesses(), random = randomBytes } = options;
    const { files, repairs } = opened;
    const now = () => clock.now();
    const uniqueName = () => Buffer.from(random(8)).toString('hex');
    this.directory = directory;
    this.repairs = repairs;
    this.#files = files;
    this.#means = { files, processes, uniqueName, now };
    this.#writeLock = createWriteLock({ ...this.#means, clock }, join(directory, 'lock', 'write'));
    const cache = { documents: new Map(), record: undefined };
    const { credentials = {}, open = openBundle } = options;
    this.#bundles = { files, uniqueName, directory, credentials, open, cache };
    const operations = { directory: join(directory, 'operations'), newUid: randomUUID, known: new Map() };
    this.#operations = { files, uniqueName, now, ...operations };
  }

  async acquireLock(options: { readonly purpose: string; readonly takeOver?: boolean }): Promise<HeldLock> {
    if (this.#lock !== undefined && (await this.#lock.isHeld())) {
      throw new StoreError('locked', this.directory, 'the lock is held by this process already');
    }
    const directory = join(this.directory, 'lock', 'owner');
    // Under the write lock: so the owner that is taken over is not in the middle of a write, and nobody else's temporary
    // files are cleared.
    return this.#writeLock.run(async () => {
      const result = await tryLock(this.#means, directory, options);
      if (!isHeldLock(result)) throw lockedBy(this.directory, result, this.#means.processes);
      this.#lock = result;
      await this.#clearLeftovers();
      return result;
    }, options);
  }

  async releaseLock(): Promise<void> {
    await this.#lock?.release();
    this.#lock = undefined;
  }

  lockOwner(): Promise<LockOwner | undefined> {
    return lockOwner(this.#files, join(this.directory, 'lock', 'owner'));
  }

  async endpoints(): Promise<readonly string[]> {
    const path = join(this.directory, 'talosconfig');
    const config = parseTalosconfig(await this.readTalosconfig(), path);
    const context = config.contexts[config.context];
    if (context === undefined)
      throw new StoreError('malformed', path, `selects the context "${config.context}", which it does not have`);
    return [...new Set([...context.endpoints, ...context.nodes].map(addressOfEndpoint))];
  }

  readBundle() {
    return readBundleFile(this.#bundles);
  }

  readState() {
    return readClusterState(this.#bundles);
  }

  writeRecord(record: Parameters<ClusterStore['writeRecord']>[0]) {
    return this.#asOwner('write the record', () => writeRecordFile(this.#bundles, record));
  }

  removeRecord() {
    return this.#asOwner('remove the record', () => removeRecordFile(this.#bundles));
  }

  replaceBundle(...[expected, replacements]: Parameters<ClusterStore['replaceBundle']>) {
    return this.#asOwner('replace the bundle', () => replaceBundleFile(this.#bundles, expected, replacements));
  }

  settlePrevious(choice: 'Archive' | 'Remove') {
    return this.#asOwner('settle the replaced bundle', () => settlePreviousFiles(this.#bundles, choice));
  }

  listOperations() {
    return listOperations(this.#operations);
  }

  readOperation(name: string) {
    return readOperation(this.#operations, name);
  }

  createOperation(operation: Parameters<ClusterStore['createOperation']>[0]) {
    return this.#write(() => createOperation(this.#operations, operation));
  }

  updateOperation(...[seen, change]: Parameters<ClusterStore['updateOperation']>) {
    return this.#write(() => updateOperation(this.#operations, seen, change));
  }

  deleteOperation(name: string) {
    return this.#write(() => deleteOperation(this.#operations, name));
  }

  appendAudit(entry: Parameters<ClusterStore['appendAudit']>[0]) {
    return this.#write(() => appendAuditEntry(this.#files, join(this.directory, 'audit.jsonl'), entry));
  }

  async readAudit() {
    return parseAudit(await this.#files.read(join(this.directory, 'audit.jsonl')));
  }

  async readCredential(name: Parameters<ClusterStore['readCredential']>[0]) {
    const bytes = await this.#files.read(join(this.directory, name));
    return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
  }

  writeCredential(...[name, text]: Parameters<ClusterStore['writeCredential']>) {
    return this.#write(() => replaceFile(this.#bundles, join(this.directory, name), Buffer.from(text)));
  }

  removeCredential(name: Parameters<ClusterStore['removeCredential']>[0]) {
    return this.#write(() => removeFile(this.#files, join(this.directory, name)));
  }

  async readTalosconfig(): Promise<string> {
    const text = await this.readCredential('talosconfig');
    if (text !== undefined) return text;
    throw new StoreError(
      'missing',
      join(this.directory, 'talosconfig'),
      'there is no talosconfig. Copy the one of this cluster here',
    );
  }

  writeTalosconfig(text: string): Promise<void> {
    return this.writeCredential('talosconfig', text);
  }

  /** A write of the one who acts on the cluster. */
  async #asOwner<T>(doing: string, work: () => Promise<T>): Promise<T> {
    if (this.#lock === undefined)
      throw new StoreError('not-locked', this.directory, `to ${doing}, the lock of the cluster must be held`);
    return this.#write(work);
  }

  /**
   * Any write: alone, and, once this store took the lock of the cluster, only while it still has it. The lock of the
   * cluster is taken under the write lock as well, so it cannot be lost between the check and the write.
   */
  #write<T>(work: () => Promise<T>): Promise<T> {
    return this.#writeLock.run(async () => {
      if (this.#lock !== undefined && !(await this.#lock.isHeld())) {
        throw new StoreError(
          'lock-lost',
          this.directory,
          'another process has taken the lock of this cluster. Nothing was changed; this process must stop',
        );
      }
      return work();
    });
  }

  async #clearLeftovers(): Promise<void> {
    try {
      for (const folder of ['', 'operations', 'archive', join('lock', 'owner'), join('lock', 'write')]) {
        await clearTemporaries(this.#files, join(this.directory, folder));
      }
    } catch (cause) {
      throw fromFileSystem(cause, this.directory, {
        doing: 'clear what a killed process left behind',
        outcome: 'not-done',
      });
    }
  }
}

function lockedBy(directory: string, owner: LockOwner, processes: Processes): StoreError {
  const { host, pid, purpose, since } = owner;
  return new StoreError(
    'locked',
    directory,
    `process ${pid} on ${host} has held the lock since ${since} (${purpose}). ` +
      `Wait for it or stop it${otherwise(owner, processes)}`,
  );
}

/** When the lock may be taken over; never from a process that is seen to live. */
function otherwise(owner: LockOwner, processes: Processes): string {
  if (processes.liveness(owner) === 'alive') return '';
  if (owner.host !== processes.self().host) return '; if that host is gone for good, take the lock over';
  return '; if it has ended for certain, as before a reboot (another process may have its number now), take the lock over';
}

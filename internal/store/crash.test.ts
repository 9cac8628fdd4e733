import { beforeAll, describe, expect, it } from 'vitest';
import {
  type BundleDocument,
  bundleFingerprint,
  createRotationRecord,
  exportFingerprint,
  openBundle,
  type RotationRecord,
} from '../../pkg/bundle/index.ts';
import { aNewCa, bundleFixture } from '../../test/builders/bundle.ts';
import {
  afterPowerLoss,
  copyDisk,
  createDisk,
  createMemoryFiles,
  type FileFault,
  type MemoryDisk,
  type MemoryFiles,
  ProcessDied,
} from '../../test/builders/memory-files.ts';
import { type EmbeddedStore, openEmbeddedStore } from './embedded-store.ts';
import type { StoreError } from './error.ts';
import type { Processes } from './process-identity.ts';

const DIRECTORY = '/cluster';
const NOW_MS = Date.UTC(2026, 10, 29);

let original: BundleDocument;
let replaced: BundleDocument;
let replacedBytes: Uint8Array;
let record: RotationRecord;
const documents = new Map<string, Promise<BundleDocument>>();

beforeAll(async () => {
  original = await openBundle(bundleFixture('secrets-v1.14.txt'), { path: 'secrets.yaml' });
  record = createRotationRecord(original.bundle, { etcd: await aNewCa('etcd') }, { operation: 'uid-1' });
  replaced = original.replace(record.targets);
  replacedBytes = await replaced.write();
});

/** Opening a bundle takes milliseconds, and thousands are opened here. */
function openOnce(...[bytes, options]: Parameters<typeof openBundle>): Promise<BundleDocument> {
  const text = Buffer.from(bytes).toString('latin1');
  const known = documents.get(text) ?? openBundle(bytes, options);
  documents.set(text, known);
  return known;
}

/** Process `pid`; every other one is dead. */
function onlyProcess(pid: number): Processes {
  const self = { host: 'h', pid, bootId: 'b', pidNamespace: 'n', startedAt: String(pid) };
  return { self: () => self, liveness: (other) => (other.pid === pid ? 'alive' : 'dead') };
}

function newDisk(): MemoryDisk {
  const disk = createDisk(DIRECTORY);
  const bytes = bundleFixture('secrets-v1.14.txt');
  const inode = { bytes, durable: bytes, mode: 0o600 };
  disk.names.set(`${DIRECTORY}/secrets.yaml`, inode);
  disk.durableNames.set(`${DIRECTORY}/secrets.yaml`, inode);
  return disk;
}

async function openStore(files: MemoryFiles, pid: number): Promise<EmbeddedStore> {
  let counter = 0;
  return openEmbeddedStore({
    directory: DIRECTORY,
    files,
    processes: onlyProcess(pid),
    uid: 1000,
    open: openOnce,
    random: (length) => Buffer.from(`${pid}-${counter++}`.padEnd(length, '.')).subarray(0, length),
    clock: {
      now: () => NOW_MS,
      monotonic: () => NOW_MS,
      sleep: () => Promise.reject(new Error('nothing to wait for')),
    },
  });
}

/** What a caller was promised so far. */
interface Promised {
  record: boolean;
  replaced: boolean;
  removed: boolean;
  operation: boolean;
  audited: number;
}

/** Everything that a rotation asks of the store, written so that it can be run again from any point. */
async function rotate(store: EmbeddedStore, promised: Promised): Promise<void> {
  await store.acquireLock({ purpose: 'rotation' });
  let operation = await store.readOperation('rotate-1');
  if (operation === undefined && !promised.removed) {
    const spec = { type: 'CARotation', paused: false, restartWorkloads: 'Never', previousBundle: 'Remove' } as const;
    operation = await store.createOperation({ name: 'rotate-1', spec, finalizers: ['f'] });
  }
  promised.operation = true;
  const state = await store.readState();
  const isReplaced = exportFingerprint(state.bundle) === exportFingerprint(replaced.bundle);
  if (!isReplaced) {
    await store.writeRecord(record);
    promised.record = true;
    await store.appendAudit({
      time: 't',
      operation: 'uid-1',
      stage: 'Finalizing',
      effect: 'replaceBundle',
      phase: 'before',
      message: 'm',
    });
    promised.audited += 1;
    await store.replaceBundle(bundleFingerprint(original.bundle), record.targets);
  }
  promised.replaced = true;
  await store.removeRecord();
  promised.removed = true;
  await store.settlePrevious('Remove');
  if (operation !== undefined) await store.updateOperation(operation, { annotations: { done: 'yes' } });
  await store.writeTalosconfig('context: new\n');
  await store.releaseLock();
}

/** What must be true of the disk at any moment, with what was promised before. */
async function expectNothingLost(disk: MemoryDisk, promised: Promised, pid: number): Promise<void> {
  const store = await openStore(createMemoryFiles(disk), pid);
  const state = await store.readState();
  const found = exportFingerprint(state.bundle);
  const isNew = found === exportFingerprint(replaced.bundle);
  if (!isNew) expect(found).toBe(exportFingerprint(original.bundle));
  if (promised.replaced) expect(isNew).toBe(true);
  if (promised.record && !isNew)
    expect(state.record?.targets.etcd?.key.equals(record.targets.etcd?.key ?? original.bundle.etcd.key)).toBe(true);
  // As long as the record is there, the bundle that it replaces is as well.
  if (isNew && state.record !== undefined) {
    expect(state.previous && exportFingerprint(state.previous)).toBe(exportFingerprint(original.bundle));
  }
  if (promised.operation) expect(await store.readOperation('rotate-1')).toBeDefined();
  const audit = await store.readAudit();
  expect(audit.entries.length).toBeGreaterThanOrEqual(promised.audited);
  for (const inode of disk.names.values()) expect(inode.mode).toBe(0o600);
}

function expectFinished(disk: MemoryDisk): void {
  const files = [...disk.names.keys()].filter((path) => !path.startsWith(`${DIRECTORY}/lock/`)).sort();
  expect(files).toEqual([
    '/cluster/audit.jsonl',
    '/cluster/operations/rotate-1.yaml',
    '/cluster/secrets.yaml',
    '/cluster/talosconfig',
  ]);
  expect([...disk.names.keys()].filter((path) => path.includes('.tmp'))).toEqual([]);
  expect(Buffer.from(disk.names.get('/cluster/secrets.yaml')?.bytes ?? []).equals(replacedBytes)).toBe(true);
}

async function attempt(
  disk: MemoryDisk,
  fault: FileFault,
  promised: Promised,
): Promise<{ files: MemoryFiles; error: unknown }> {
  const files = createMemoryFiles(disk, fault);
  let error: unknown;
  try {
    await rotate(await openStore(files, 100), promised);
  } catch (cause) {
    error = cause;
  }
  return { files, error };
}

const nothingPromised = (): Promised => ({
  record: false,
  replaced: false,
  removed: false,
  operation: false,
  audited: 0,
});

/** The steps of a whole rotation by number. Those of the locks are gone through in the tests of the locks. */
async function stepsOfRotation(): Promise<{ step: number; what: string }[]> {
  const files = createMemoryFiles(newDisk());
  await rotate(await openStore(files, 100), nothingPromised());
  return files.steps.map((what, index) => ({ step: index + 1, what })).filter(({ what }) => !what.includes('/lock/'));
}

describe('a store whose process dies', () => {
  it('finishes what was asked, and leaves nothing else behind, when nothing goes wrong', async () => {
    const disk = newDisk();

    await rotate(await openStore(createMemoryFiles(disk), 100), nothingPromised());

    expectFinished(disk);
  });

  it('at any step, or whose machine loses power there, has lost nothing and can be run again to the same end', async () => {
    const steps = await stepsOfRotation();
    for (const { step, what } of steps) {
      const promised = nothingPromised();
      const running = newDisk();
      const { error } = await attempt(running, { step, kind: 'die' }, promised);
      if (!(error instanceof ProcessDied)) throw new Error(`step ${step} (${what}) did not kill: ${error}`);

      const disks = [copyDisk(running), afterPowerLoss(running, 'names-lost'), afterPowerLoss(running, 'names-kept')];
      for (const disk of disks) {
        await expectNothingLost(copyDisk(disk), promised, 200);
        await rotate(await openStore(createMemoryFiles(disk), 200), { ...promised });
        expectFinished(disk);
      }
    }
    expect(steps.length).toBeGreaterThan(35);
  }, 120_000);
});

describe('a store whose file system fails', () => {
  it.each([
    ['once with ENOSPC', 'ENOSPC', false, ['disk-full']],
    ['once with EIO', 'EIO', false, ['io']],
    ['with EROFS until it is mended', 'EROFS', true, ['read-only']],
    ['with ENOSPC until it is mended', 'ENOSPC', true, ['disk-full']],
  ] as const)(
    '%s, at any step, says so, loses nothing, and goes on in the same process',
    async (_what, kind, lasts, kinds) => {
      for (const { step } of await stepsOfRotation()) {
        const promised = nothingPromised();
        const disk = newDisk();
        const files = createMemoryFiles(disk, { step, kind, lasts });
        const store = await openStore(files, 100);
        const error = await rotate(store, promised).then(
          () => undefined,
          (cause: unknown) => cause,
        );

        // Clearing a temporary file may fail without harm; then nothing needs to be said.
        if (error !== undefined) expect(kinds).toContain((error as StoreError).kind);
        expect(files.fired).toBe(true);
        await expectNothingLost(copyDisk(disk), promised, 200);
        files.mend();
        await store.releaseLock();
        await rotate(store, promised);
        // Whoever takes the lock next clears what a failed write could not clear.
        await rotate(await openStore(createMemoryFiles(disk), 300), promised);
        expectFinished(disk);
      }
    },
    120_000,
  );

  it('answers in words that say what happened and what to do', async () => {
    const step = await stepMatching(/write half of \/cluster\/\.rotation\.yaml/);
    const { error } = await attempt(newDisk(), { step, kind: 'ENOSPC' }, nothingPromised());

    expect(error).toMatchObject({
      kind: 'disk-full',
      outcome: 'not-done',
      message:
        '/cluster/rotation.yaml: could not write it: the disk is full. Make room and run it again. Nothing was changed',
    });
  });

  it('says that the outcome is not known where the folder could not be forced to the disk', async () => {
    const renamed = await stepMatching(/rename .* to \/cluster\/rotation\.yaml$/);
    const { error } = await attempt(newDisk(), { step: renamed + 1, kind: 'EIO' }, nothingPromised());

    expect(error).toMatchObject({
      kind: 'io',
      outcome: 'unknown',
      message:
        '/cluster/rotation.yaml: could not force the change of its folder to the disk: the file system answered EIO. It is not known whether the change is durable',
    });
  });
});

async function stepMatching(pattern: RegExp): Promise<number> {
  const found = (await stepsOfRotation()).find(({ what }) => pattern.test(what));
  if (found === undefined) throw new Error(`no step matches ${pattern}`);
  return found.step;
}

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AgeCredentials,
  backupKey,
  bundleFingerprint,
  createEnvelope,
  createRotationRecord,
  exportFingerprint,
  isAgeEncrypted,
  openBundle,
} from '../../pkg/bundle/index.ts';
import { Secret } from '../../pkg/pki/index.ts';
import { aNewCa, bundleFixture } from '../../test/builders/bundle.ts';
import { type EmbeddedStore, type EmbeddedStoreOptions, openEmbeddedStore } from './embedded-store.ts';
import { StaleOperationError } from './error.ts';
import { createProcesses } from './process-identity.ts';

const spec = { type: 'CARotation', paused: false, restartWorkloads: 'Never', previousBundle: 'Archive' } as const;
const entry = {
  time: 't',
  operation: 'uid-1',
  stage: 'Accepting',
  effect: 'apply',
  phase: 'before',
  message: 'm',
} as const;

let directory: string;
const at = (name: string) => join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ichor-store-'));
  writeFileSync(at('secrets.yaml'), bundleFixture('secrets-v1.14.txt'), { mode: 0o600 });
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = (options: Partial<EmbeddedStoreOptions> = {}) => openEmbeddedStore({ directory, ...options });

async function openLocked(options: Partial<EmbeddedStoreOptions> = {}): Promise<EmbeddedStore> {
  const store = await open(options);
  await store.acquireLock({ purpose: 'a test' });
  return store;
}

describe('a bundle in a store', () => {
  it('that is missing, empty or damaged is a hard stop, and nothing is made in its place', async () => {
    const store = await openLocked();
    const text = readFileSync(at('secrets.yaml'), 'utf8');

    for (const [damage, message] of [
      [
        undefined,
        `${at('secrets.yaml')}: there is no bundle. Put the secrets.yaml of this cluster here: secrets are never made anew for a cluster that exists`,
      ],
      ['', `${at('secrets.yaml')}: is empty. Restore the file: secrets are never made anew for a cluster that exists`],
      [text.slice(0, 4000), /secrets\.yaml:\d+: /],
      [text.replace(/ {4}os:\n.*\n.*\n/, ''), /certs\.os\.crt: is missing or empty/],
    ] as const) {
      rmSync(at('secrets.yaml'), { force: true });
      if (damage !== undefined) writeFileSync(at('secrets.yaml'), damage, { mode: 0o600 });

      await expect(store.readState()).rejects.toThrow(message);
      await expect(store.replaceBundle('x', { etcd: await aNewCa('etcd') })).rejects.toThrow(message);
      expect(readdirSync(directory).filter((name) => name.startsWith('secrets'))).toEqual(
        damage === undefined ? [] : ['secrets.yaml'],
      );
    }
  });

  it('is replaced in one step and kept beside it until it is archived, readable with the backup key', async () => {
    const store = await openLocked();
    const { bundle } = await store.readBundle();
    const record = createRotationRecord(bundle, { etcd: await aNewCa('etcd') }, { operation: 'uid-1' });
    await store.writeRecord(record);

    await store.replaceBundle(bundleFingerprint(bundle), record.targets);

    const state = await store.readState();
    expect(state.bundle.etcd.certificate.fingerprint).toBe(record.targets.etcd?.certificate.fingerprint);
    expect(state.previous && exportFingerprint(state.previous)).toBe(exportFingerprint(bundle));
    await store.removeRecord();
    await store.settlePrevious('Archive');
    await store.settlePrevious('Archive');
    expect(readdirSync(directory).filter((name) => name.startsWith('secrets'))).toEqual(['secrets.yaml']);
    const [name = ''] = readdirSync(at('archive'));
    const archived = readFileSync(at(`archive/${name}`));
    expect(isAgeEncrypted(archived, name)).toBe(true);
    const passphrase = Secret.of('passphrase', backupKey(state.bundle).expose());
    expect(exportFingerprint((await openBundle(archived, { path: name, passphrase })).bundle)).toBe(
      exportFingerprint(bundle),
    );
  });

  it('is left alone when it holds the replacements already, and when it is not the one that was expected', async () => {
    const store = await openLocked();
    const { bundle } = await store.readBundle();
    const talos = await aNewCa('talos');
    await store.replaceBundle(bundleFingerprint(bundle), { talos });
    const written = readFileSync(at('secrets.yaml'));

    await store.replaceBundle(bundleFingerprint(bundle), { talos });
    await expect(store.replaceBundle(bundleFingerprint(bundle), { etcd: await aNewCa('etcd') })).rejects.toMatchObject({
      kind: 'conflict',
      outcome: 'not-done',
    });

    expect(readFileSync(at('secrets.yaml')).equals(written)).toBe(true);
  });

  it('is removed when that was chosen', async () => {
    const store = await openLocked();
    const { bundle } = await store.readBundle();
    await store.replaceBundle(bundleFingerprint(bundle), { etcd: await aNewCa('etcd') });

    await store.settlePrevious('Remove');

    expect(readdirSync(directory).sort()).toEqual(['lock', 'secrets.yaml']);
  });

  it('that is encrypted stays so, and so do the record, the kept bundle and the archive', async () => {
    const passphrase = Secret.of('passphrase', 'a b c d');
    const credentials: AgeCredentials = { passphrase, scryptWorkFactor: 6 };
    const sealed = await createEnvelope(credentials, { armored: true }).seal(
      bundleFixture('secrets-v1.14.txt'),
      'secrets.yaml',
    );
    writeFileSync(at('secrets.yaml'), sealed);
    const store = await openLocked({ credentials });
    const { bundle } = await store.readBundle();
    const record = createRotationRecord(bundle, { etcd: await aNewCa('etcd') }, { operation: 'uid-1' });

    await store.writeRecord(record);
    await store.replaceBundle(bundleFingerprint(bundle), record.targets);

    const [previous = ''] = readdirSync(directory).filter((name) => name.startsWith('secrets.previous'));
    for (const name of ['secrets.yaml', 'rotation.yaml', previous])
      expect(isAgeEncrypted(readFileSync(at(name)), name)).toBe(true);
    const again = await open({ credentials });
    expect((await again.readState()).record?.targets.etcd?.certificate.fingerprint).toBe(
      record.targets.etcd?.certificate.fingerprint,
    );
    await store.settlePrevious('Archive');
    const [archived = ''] = readdirSync(at('archive'));
    expect(
      (await openBundle(readFileSync(at(`archive/${archived}`)), { path: archived, passphrase })).bundle.clusterId,
    ).toBe(bundle.clusterId);
  });
});

describe('a record in a store', () => {
  it('is not overwritten by the record of another operation, nor by other keys for the same one', async () => {
    const store = await openLocked();
    const { bundle } = await store.readBundle();
    const record = createRotationRecord(bundle, { etcd: await aNewCa('etcd') }, { operation: 'uid-1' });
    await store.writeRecord(record);

    await store.writeRecord(record);
    for (const operation of ['uid-1', 'uid-2']) {
      const other = createRotationRecord(bundle, { etcd: await aNewCa('etcd') }, { operation });
      await expect(store.writeRecord(other)).rejects.toThrow(
        'rotation.yaml: holds the new certificate authorities of the operation with uid uid-1. Finish or delete that operation first; nothing was changed',
      );
    }

    expect((await store.readState()).record?.targets.etcd?.certificate.fingerprint).toBe(
      record.targets.etcd?.certificate.fingerprint,
    );
    await store.removeRecord();
    await store.removeRecord();
    expect((await store.readState()).record).toBeUndefined();
  });

  it('needs the lock, and an owner who lost it writes nothing any more', async () => {
    const store = await open();
    await expect(store.removeRecord()).rejects.toMatchObject({ kind: 'not-locked' });

    await store.acquireLock({ purpose: 'a test' });
    const second = await open();
    await expect(second.acquireLock({ purpose: 'another' })).rejects.toThrow(
      /: process \d+ on .* has held the lock since .* \(a test\)\. Wait for it or stop it/,
    );
    // It lives: there is no word of taking the lock over.
    await expect(second.acquireLock({ purpose: 'another', takeOver: true })).rejects.toThrow(/Wait for it or stop it$/);
    // Somebody takes the lock over, as from a host that is gone.
    writeFileSync(at('lock/owner/99'), '{}');

    await expect(store.removeRecord()).rejects.toMatchObject({ kind: 'lock-lost', outcome: 'not-done' });
    await expect(store.appendAudit(entry)).rejects.toMatchObject({ kind: 'lock-lost' });
  });
});

describe('the lock of a store', () => {
  it('on a system without /proc is taken over when that is asked for, and by itself only from one that has ended', async () => {
    const processes = createProcesses('/no such folder');
    const first = await open({ processes });
    await first.acquireLock({ purpose: 'before the reboot' });

    const second = await open({ processes });
    await expect(second.acquireLock({ purpose: 'a test' })).rejects.toThrow(
      /\(before the reboot\)\. Wait for it or stop it; if it has ended for certain, as before a reboot \(another process may have its number now\), take the lock over$/,
    );
    const lock = await second.acquireLock({ purpose: 'a test', takeOver: true });

    expect(lock.takenFrom?.purpose).toBe('before the reboot');
    await expect(first.removeRecord()).rejects.toMatchObject({ kind: 'lock-lost' });
  });

  it('names the host that must be gone where its owner is elsewhere', async () => {
    const first = await open();
    await first.acquireLock({ purpose: 'a test' });
    const here = createProcesses();
    const processes = { ...here, self: () => ({ ...here.self(), host: 'elsewhere' }) };

    const second = await open({ processes });

    await expect(second.acquireLock({ purpose: 'a test' })).rejects.toThrow(
      /Wait for it or stop it; if that host is gone for good, take the lock over$/,
    );
  });
});

describe('operations in a store', () => {
  it('are made once, changed against their version, and kept until their last finalizer is gone', async () => {
    const store = await open();
    const made = await store.createOperation({ name: 'rotate-1', spec, finalizers: ['f'] });
    await expect(store.createOperation({ name: 'rotate-1', spec })).rejects.toMatchObject({ kind: 'exists' });

    const paused = await store.updateOperation(made, {
      spec: { paused: true },
      annotations: { 'ichor.maesh.dev/credentials-handoff': 'x', a: 'b' },
    });
    await expect(store.updateOperation(made, { spec: { paused: false } })).rejects.toBeInstanceOf(StaleOperationError);
    const dropped = await store.updateOperation(paused, { dropHandoff: true });
    const deleting = await store.deleteOperation('rotate-1');

    expect([made, paused, dropped].map(({ metadata }) => [metadata.resourceVersion, metadata.generation])).toEqual([
      ['1', 1],
      ['2', 2],
      ['3', 2],
    ]);
    expect(dropped.metadata.annotations).toEqual({ a: 'b' });
    expect((await store.listOperations()).map(({ metadata }) => metadata.deletionTimestamp)).toEqual([
      deleting?.metadata.deletionTimestamp,
    ]);
    if (deleting === undefined) throw new Error('gone');
    await store.updateOperation(deleting, { finalizers: [] });
    expect(await store.readOperation('rotate-1')).toBeUndefined();
    expect(await store.deleteOperation('rotate-1')).toBeUndefined();
  });

  it('that was made again under the same name is not the one that was seen', async () => {
    const store = await open();
    const seen = await store.createOperation({ name: 'rotate-1', spec });
    await store.deleteOperation('rotate-1');
    await store.createOperation({ name: 'rotate-1', spec });

    await expect(store.updateOperation(seen, { annotations: { a: 'b' } })).rejects.toBeInstanceOf(StaleOperationError);
  });

  it('are read once while they stay the same, by nobody to be changed, and anew as soon as somebody else wrote', async () => {
    const [mine, theirs] = [await open(), await open()];
    const made = await mine.createOperation({ name: 'rotate-1', spec });

    const seen = await mine.readOperation('rotate-1');
    expect(await mine.readOperation('rotate-1')).toBe(seen);
    expect((await mine.listOperations())[0]).toBe(seen);
    expect(() => Object.assign(seen?.metadata.annotations ?? {}, { a: 'b' })).toThrow(TypeError);
    await theirs.updateOperation(made, { spec: { paused: true } });
    expect((await mine.readOperation('rotate-1'))?.spec.paused).toBe(true);
    rmSync(at('operations/rotate-1.yaml'));
    expect(await mine.readOperation('rotate-1')).toBeUndefined();
  });

  it('lose no update when twenty writers of two stores change one at once', async () => {
    const stores = [await openLocked(), await open()];
    await stores[0]?.createOperation({ name: 'rotate-1', spec });
    const add = async (store: EmbeddedStore, key: string): Promise<void> => {
      for (;;) {
        const seen = await store.readOperation('rotate-1');
        if (seen === undefined) throw new Error('gone');
        try {
          await store.updateOperation(seen, { annotations: { [key]: 'x' } });
          return;
        } catch (error) {
          if (!(error instanceof StaleOperationError)) throw error;
        }
      }
    };

    await Promise.all(
      stores.flatMap((store, index) => Array.from({ length: 10 }, (_, nth) => add(store, `${index}-${nth}`))),
    );

    expect(Object.keys((await stores[1]?.readOperation('rotate-1'))?.metadata.annotations ?? {}).length).toBe(20);
  });

  it('with a bad name or a damaged file are refused with the file and the field', async () => {
    const store = await open();
    await store.createOperation({ name: 'rotate-1', spec });
    writeFileSync(
      at('operations/rotate-1.yaml'),
      readFileSync(at('operations/rotate-1.yaml'), 'utf8').replace('Pending', 'Pending2'),
    );

    await expect(store.createOperation({ name: '../x', spec })).rejects.toThrow('"../x" is no name for an operation');
    await expect(store.listOperations()).rejects.toThrow(
      /operations\/rotate-1\.yaml: is no valid operation\. status\./,
    );
  });
});

describe('the audit trail', () => {
  it('keeps the order, and a line that a crash tore spoils only itself', async () => {
    const store = await open();
    await store.appendAudit(entry);
    writeFileSync(at('audit.jsonl'), `${readFileSync(at('audit.jsonl'), 'utf8')}{"time":"t","opera`);
    await store.appendAudit({ ...entry, phase: 'after', outcome: 'ok', machine: 'cp-1' });

    const { entries, torn } = await store.readAudit();

    expect(entries).toEqual([entry, { ...entry, phase: 'after', outcome: 'ok', machine: 'cp-1' }]);
    expect(torn).toBe(1);
  });

  it('names every machine of an effect on several', async () => {
    const store = await open();
    const batch = { ...entry, effect: 'apply-configs', machines: ['w2', 'w3'] };

    await store.appendAudit(batch);

    expect((await store.readAudit()).entries).toEqual([batch]);
  });
});

describe('credentials in a store', () => {
  it('are replaced whole, and the endpoints come from the current context of the talosconfig', async () => {
    const store = await open();
    await expect(store.endpoints()).rejects.toThrow(
      'talosconfig: there is no talosconfig. Copy the one of this cluster here',
    );
    await store.writeTalosconfig(
      'context: c1\ncontexts:\n  c1:\n    endpoints: [10.0.0.1, 10.0.0.2]\n    nodes: [10.0.0.2, 10.0.0.3]\n',
    );

    expect(await store.endpoints()).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    await store.writeCredential('kubeconfig.new', 'x');
    expect(await store.readCredential('kubeconfig.new')).toBe('x');
    await store.removeCredential('kubeconfig.new');
    expect(await store.readCredential('kubeconfig.new')).toBeUndefined();
  });

  it('are addresses where the talosconfig has them with the port of the Talos API, as talosctl takes them', async () => {
    const store = await open();
    const endpoints =
      '["10.0.0.1:50000", "[fd00::1]:50000", "fd00::2", "[fd00::3]", "cp.example:50000", "lb.example:443"]';
    await store.writeTalosconfig(`context: c1\ncontexts:\n  c1:\n    endpoints: ${endpoints}\n`);

    expect(await store.endpoints()).toEqual([
      '10.0.0.1',
      'fd00::1',
      'fd00::2',
      'fd00::3',
      'cp.example',
      // Another port leads to something that forwards: it stays in the message of the failure.
      'lb.example:443',
    ]);
  });
});

describe('the folder of a store', () => {
  const mode = (name: string) => statSync(at(name)).mode & 0o777;

  it('is closed to other users, which is said', async () => {
    chmodSync(directory, 0o755);
    chmodSync(at('secrets.yaml'), 0o644);
    mkdirSync(at('operations'), { mode: 0o755 });
    writeFileSync(at('notes.txt'), 'mine', { mode: 0o644 });

    const { repairs } = await open();

    expect(repairs).toEqual([
      `${directory} could be read by others (mode 0755); it is 0700 now`,
      `${at('operations')} could be read by others (mode 0755); it is 0700 now`,
      `${at('secrets.yaml')} could be read by others (mode 0644); it is 0600 now`,
    ]);
    expect([mode('.'), mode('operations'), mode('secrets.yaml'), mode('notes.txt')]).toEqual([
      0o700, 0o700, 0o600, 0o644,
    ]);
  });

  it('stays as it is where it holds no bundle: it is no folder of a cluster', async () => {
    rmSync(at('secrets.yaml'));
    chmodSync(directory, 0o755);
    mkdirSync(at('lock'), { mode: 0o755 });
    writeFileSync(at('kubeconfig'), 'mine', { mode: 0o644 });

    await expect(open()).rejects.toThrow(`${at('secrets.yaml')}: there is no bundle. `);

    expect([mode('.'), mode('lock'), mode('kubeconfig')]).toEqual([0o755, 0o755, 0o644]);
  });

  it('may hold files and links of other people, whose names only begin like ours', async () => {
    for (const name of ['archive.tar', 'secrets.md', 'audit-2025.log']) {
      writeFileSync(at(name), 'mine', { mode: 0o644 });
    }
    symlinkSync('/etc/hostname', at('kubeconfig-prod'));

    const { repairs } = await open();

    expect(repairs).toEqual([]);
    expect([mode('archive.tar'), mode('secrets.md'), mode('audit-2025.log')]).toEqual([0o644, 0o644, 0o644]);
  });

  it.each(['talosconfig.new', 'kubeconfig.old', 'rotation.yaml', 'secrets.previous-0123456789ab.yaml', 'audit.jsonl'])(
    'closes %s',
    async (name) => {
      writeFileSync(at(name), '', { mode: 0o644 });

      await open();

      expect(mode(name)).toBe(0o600);
    },
  );

  it('holds only files that nobody else can read, whatever is written', async () => {
    const store = await openLocked();
    const { bundle } = await store.readBundle();
    await store.createOperation({ name: 'rotate-1', spec });
    await store.appendAudit(entry);
    await store.writeTalosconfig('context: ""\n');
    await store.writeRecord(createRotationRecord(bundle, { etcd: await aNewCa('etcd') }));

    const files = readdirSync(directory, { recursive: true, withFileTypes: true });

    for (const file of files) {
      expect([file.name, statSync(join(file.parentPath, file.name)).mode & 0o077]).toEqual([file.name, 0]);
    }
    expect(files.length).toBeGreaterThan(7);
  });

  it('is refused when it belongs to somebody else, is not there, or holds a symbolic link', async () => {
    await expect(open({ uid: 4242 })).rejects.toThrow(
      /: belongs to user \d+, and this process runs as user 4242\. Run it as that user, or take the file over \(chown\)/,
    );
    await expect(openEmbeddedStore({ directory: at('none') })).rejects.toThrow(
      'none: there is no such folder. ichor cluster import makes one',
    );
    await expect(openEmbeddedStore({ directory: at('secrets.yaml/x') })).rejects.toThrow(
      'secrets.yaml/x: there is no such folder. ichor cluster import makes one',
    );
    await expect(openEmbeddedStore({ directory: at('x'.repeat(300)) })).rejects.toThrow(
      'could not look at it: the file system answered ENAMETOOLONG. Nothing was changed',
    );
    rmSync(at('secrets.yaml'));
    symlinkSync('/etc/hostname', at('secrets.yaml'));
    await expect(open()).rejects.toThrow(
      'secrets.yaml: is a symbolic link or a special file; put the file itself here',
    );
  });

  it('is cleared of what a killed process left half-written, and of nothing else', async () => {
    writeFileSync(at('.secrets.yaml.0123456789abcdef.tmp'), 'half', { mode: 0o600 });
    writeFileSync(at('.mine.tmp'), 'mine', { mode: 0o600 });

    await openLocked();

    expect(readdirSync(directory).sort()).toEqual(['.mine.tmp', 'lock', 'secrets.yaml']);
  });
});

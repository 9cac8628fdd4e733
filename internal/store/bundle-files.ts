import { join } from 'node:path';
import {
  type AgeCredentials,
  type BundleDocument,
  type BundleReplacements,
  backupKey,
  bundleFingerprint,
  CA_TARGETS,
  caOf,
  createEnvelope,
  exportFingerprint,
  type openBundle,
  parseRotationRecord,
  type RotationRecord,
  type SecretsBundle,
  targetsOf,
  writeRotationRecord,
} from '../../pkg/bundle/index.ts';
import { Secret } from '../../pkg/pki/index.ts';
import { ensureDirectory, removeFile, replaceFile, type WriteMeans } from './atomic-file.ts';
import { missingBundle, StoreError } from './error.ts';
import type { ClusterState } from './store.ts';

/** What was read last, with the bytes that it was read from; other bytes are read anew. */
export interface BundleCache {
  readonly documents: Map<string, { readonly bytes: Uint8Array; readonly document: BundleDocument }>;
  record:
    | { readonly bytes: Uint8Array; readonly document: BundleDocument; readonly record: RotationRecord }
    | undefined;
}

/** The bundle, the record beside it, and the bundle that was replaced. */
export interface BundleFiles extends WriteMeans {
  readonly directory: string;
  /** What opens the bundle, and closes it again. */
  readonly credentials: AgeCredentials;
  /** `openBundle`, unless a test opens bundles in another way. */
  readonly open: typeof openBundle;
  /** What was read last: opening with a passphrase takes a second, and the engine looks every few seconds. */
  readonly cache: BundleCache;
}

const PREVIOUS = /^secrets\.previous-[0-9a-f]{12}\.yaml$/;

/** A derived key of 256 bits needs no stretching. */
const ARCHIVE_WORK_FACTOR = 10;

/** The bundle of the cluster. Errors: `missing`; {@link BundleError} where it is damaged or does not open. */
export async function readBundleFile(at: BundleFiles): Promise<BundleDocument> {
  const path = bundlePath(at);
  const document = await openAt(at, path);
  if (document !== undefined) return document;
  throw missingBundle(path);
}

/**
 * Bundle, record and kept bundle, as they fit together. Reading takes no lock, so a writer may come between the files;
 * then everything is read again.
 */
export async function readClusterState(at: BundleFiles): Promise<ClusterState> {
  for (;;) {
    const document = await readBundleFile(at);
    const state = await readBesides(at, document).catch((error: unknown) => ({ error }));
    if ((await readBundleFile(at)) !== document) continue;
    if ('error' in state) throw state.error;
    return state;
  }
}

async function readBesides(at: BundleFiles, document: BundleDocument): Promise<ClusterState> {
  const record = await readRecordFile(at, document);
  const previous = record === undefined ? undefined : await previousOf(at, record);
  return { bundle: document.bundle, previous, record };
}

/** Stores the record of a rotation. See `ClusterStore.writeRecord`. */
export async function writeRecordFile(at: BundleFiles, record: RotationRecord): Promise<void> {
  const path = recordPath(at);
  const document = await readBundleFile(at);
  const text = writeRotationRecord(record);
  // Checks the new record against the bundle just as it will be checked when it is read.
  parseRotationRecord(text, path, document.bundle);
  const present = await readRecordFile(at, document);
  if (present !== undefined) {
    if (writeRotationRecord(present) === text) return;
    throw new StoreError(
      'exists',
      path,
      `holds the new certificate authorities of ${nameOf(present)}. Finish or delete that operation first; nothing was changed`,
    );
  }
  await replaceFile(at, path, await document.seal(Buffer.from(text), path));
  const stored = await readRecordFile(at, document);
  if (stored === undefined || writeRotationRecord(stored) !== text) {
    throw new StoreError('io', path, 'reads back differently from what was written', { outcome: 'unknown' });
  }
}

/** Removes the record. Idempotent. */
export async function removeRecordFile(at: BundleFiles): Promise<void> {
  await removeFile(at.files, recordPath(at));
}

/** Replaces the bundle. See `ClusterStore.replaceBundle`. */
export async function replaceBundleFile(
  at: BundleFiles,
  expected: string,
  replacements: BundleReplacements,
): Promise<void> {
  const path = bundlePath(at);
  const document = await readBundleFile(at);
  if (holdsAll(document.bundle, replacements)) return;
  const found = bundleFingerprint(document.bundle);
  if (found !== expected) {
    throw new StoreError(
      'conflict',
      path,
      `has the fingerprint ${found}, and ${expected} was expected: somebody exchanged the bundle. Nothing was changed`,
    );
  }
  const replaced = await document.replace(replacements).write();
  // Beside the new one before the new one is there: the old keys are needed until the last machine has dropped them.
  await replaceFile(
    at,
    join(at.directory, `secrets.previous-${shortName(document.bundle)}.yaml`),
    await document.write(),
  );
  await replaceFile(at, path, replaced);
}

/** Archives or removes every kept bundle. See `ClusterStore.settlePrevious`. */
export async function settlePreviousFiles(at: BundleFiles, choice: 'Archive' | 'Remove'): Promise<void> {
  const { bundle } = await readBundleFile(at);
  for (const name of await previousNames(at)) {
    const path = join(at.directory, name);
    const kept = await openAt(at, path);
    // A bundle that was kept and never replaced: the crash fell between the two writes, and there is nothing to settle.
    const isCurrent = kept !== undefined && exportFingerprint(kept.bundle) === exportFingerprint(bundle);
    if (kept !== undefined && !isCurrent && choice === 'Archive') await archive(at, kept);
    await removeFile(at.files, path);
    at.cache.documents.delete(path);
  }
}

/** An encrypted bundle stays so for the same people; a plain one can be opened by whoever holds the bundle of now. */
async function archive(at: BundleFiles, kept: BundleDocument): Promise<void> {
  const directory = join(at.directory, 'archive');
  const path = join(directory, `secrets-${shortName(kept.bundle)}.yaml.age`);
  await ensureDirectory(at.files, directory);
  const bytes = await kept.write();
  if (kept.encrypted) return replaceFile(at, path, bytes);
  const credentials = {
    passphrase: Secret.of('passphrase', backupKey(kept.bundle).expose()),
    scryptWorkFactor: ARCHIVE_WORK_FACTOR,
  };
  return replaceFile(at, path, await createEnvelope(credentials, { armored: true }).seal(bytes, path));
}

async function readRecordFile(at: BundleFiles, document: BundleDocument): Promise<RotationRecord | undefined> {
  const path = recordPath(at);
  const bytes = await at.files.read(path);
  if (bytes === undefined) return undefined;
  const known = at.cache.record;
  if (known?.document === document && Buffer.from(known.bytes).equals(bytes)) return known.record;
  const text = Buffer.from(await document.unseal(bytes, path)).toString('utf8');
  const record = parseRotationRecord(text, path, document.bundle);
  at.cache.record = { bytes, document, record };
  return record;
}

/** The kept bundle that holds exactly what the record replaces. */
async function previousOf(at: BundleFiles, record: RotationRecord): Promise<SecretsBundle | undefined> {
  for (const name of await previousNames(at)) {
    const kept = await openAt(at, join(at.directory, name));
    const isOurs = targetsOf(record.targets).every(
      (target) => kept !== undefined && caOf(kept.bundle, target).certificate.fingerprint === record.replaces[target],
    );
    if (kept !== undefined && isOurs) return kept.bundle;
  }
  return undefined;
}

async function previousNames(at: BundleFiles): Promise<string[]> {
  return (await at.files.list(at.directory)).filter((name) => PREVIOUS.test(name)).sort();
}

async function openAt(at: BundleFiles, path: string): Promise<BundleDocument | undefined> {
  const bytes = await at.files.read(path);
  if (bytes === undefined) return undefined;
  const known = at.cache.documents.get(path);
  if (known !== undefined && Buffer.from(known.bytes).equals(bytes)) return known.document;
  const document = await at.open(bytes, { path, ...at.credentials });
  at.cache.documents.set(path, { bytes, document });
  return document;
}

function holdsAll(bundle: SecretsBundle, replacements: BundleReplacements): boolean {
  if (replacements['etcd-encryption'] !== undefined || replacements['service-account'] !== undefined) return false;
  const replaced = CA_TARGETS.filter((target) => replacements[target] !== undefined);
  return (
    replaced.length > 0 &&
    replaced.every(
      (target) => caOf(bundle, target).certificate.fingerprint === replacements[target]?.certificate.fingerprint,
    )
  );
}

/** Names a bundle by its CAs. */
function shortName(bundle: SecretsBundle): string {
  return exportFingerprint(bundle).slice(0, 12);
}

function nameOf(record: RotationRecord): string {
  return record.operation === undefined ? 'another rotation' : `the operation with uid ${record.operation}`;
}

function bundlePath(at: BundleFiles): string {
  return join(at.directory, 'secrets.yaml');
}

function recordPath(at: BundleFiles): string {
  return join(at.directory, 'rotation.yaml');
}

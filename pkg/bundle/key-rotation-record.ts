import { createHash } from 'node:crypto';
import {
  type EncryptionKey,
  type Fingerprint,
  PkiError,
  parseEncryptionKey,
  type Secret,
  type ServiceAccountKey,
} from '../pki/index.ts';
import type { KeyTarget, SecretsBundle } from './bundle.ts';
import { BundleError, type Place } from './error.ts';
import { encodePem, readServiceAccountKey } from './material.ts';
import {
  checkChecksum,
  entryField,
  fingerprintField,
  parseRecordFile,
  pemField,
  placeOfValue,
  RECORD_VERSION,
  type RecordFile,
  type RecordFrame,
  writeRecordFile,
} from './record-file.ts';

/** `keyrotation.yaml`: the new keys of a rotation, durable before any machine is told anything. The keys present are the targets. */
export interface KeyRotationRecord {
  readonly version: 1;
  /** The uid of the operation that this record belongs to. */
  readonly operation?: string;
  readonly targets: { readonly 'etcd-encryption'?: EncryptionKey; readonly 'service-account'?: ServiceAccountKey };
  /** What each new key takes the place of: SHA-256 of the old key (encryption) or of the old public key (service account). */
  readonly replaces: Readonly<Partial<Record<KeyTarget, Fingerprint>>>;
}

const KEY_TARGETS: readonly KeyTarget[] = ['etcd-encryption', 'service-account'];

const FRAME: RecordFrame = {
  about: 'Written by Ichor: the new keys of a rotation under way.',
  entries: { 'etcd-encryption': ['provider', 'name', 'secret', 'replaces'], 'service-account': ['key', 'replaces'] },
};

/**
 * Makes the record of a key rotation of `bundle`; the encryption key that the bundle writes with is the one replaced
 * (secretbox where there is one). Errors: {@link BundleError} where a new key equals a key of the bundle.
 */
export function createKeyRotationRecord(
  bundle: SecretsBundle,
  targets: KeyRotationRecord['targets'],
  options: { readonly operation?: string } = {},
): KeyRotationRecord {
  const path = 'keyrotation.yaml';
  const replaces: Partial<Record<KeyTarget, Fingerprint>> = {};
  const [writing] = encryptionSecretsOf(bundle);
  if (targets['etcd-encryption'] !== undefined && writing !== undefined)
    replaces['etcd-encryption'] = secretFingerprint(writing);
  if (targets['service-account'] !== undefined) replaces['service-account'] = bundle.serviceAccount.fingerprint;
  const record: KeyRotationRecord = { version: RECORD_VERSION, ...options, targets, replaces };
  if (Object.keys(replaces).length === 0) throw new BundleError('missing', { path }, 'names nothing to replace');
  checkKeyRecord(record, bundle, (target) => ({ path, field: target }));
  return record;
}

/** The text of a record. Deterministic. */
export function writeKeyRotationRecord(record: KeyRotationRecord): string {
  const entries: [string, Record<string, string>][] = [];
  const { 'etcd-encryption': encryption, 'service-account': serviceAccount } = record.targets;
  if (encryption !== undefined) {
    const { provider, name, secret } = encryption;
    const replaces = replacedBy(record, 'etcd-encryption');
    entries.push(['etcd-encryption', { provider, name: JSON.stringify(name), secret: secret.expose(), replaces }]);
  }
  if (serviceAccount !== undefined) {
    const replaces = replacedBy(record, 'service-account');
    entries.push(['service-account', { key: encodePem(serviceAccount.privateKey.expose()), replaces }]);
  }
  return writeRecordFile(FRAME, { operation: record.operation, checksumLines: checksumLines(record) }, entries);
}

/** Reads and checks `keyrotation.yaml` against the bundle beside it; the same rules and errors as for `rotation.yaml`. */
export function parseKeyRotationRecord(text: string, where: string, bundle: SecretsBundle): KeyRotationRecord {
  const file = parseRecordFile(text, where, FRAME);
  const targets: { 'etcd-encryption'?: EncryptionKey; 'service-account'?: ServiceAccountKey } = {};
  const replaces: Partial<Record<KeyTarget, Fingerprint>> = {};
  if (file.entries.has('etcd-encryption')) targets['etcd-encryption'] = readEncryptionKey(file);
  if (file.entries.has('service-account'))
    targets['service-account'] = readServiceAccountKey(pemField(file, 'service-account', 'key'));
  for (const target of KEY_TARGETS)
    if (file.entries.has(target)) replaces[target] = fingerprintField(file, target, 'replaces');
  const { operation } = file;
  const record: KeyRotationRecord = {
    version: RECORD_VERSION,
    ...(operation === undefined ? {} : { operation }),
    targets,
    replaces,
  };
  checkKeyRecord(record, bundle, (target) =>
    placeOfValue(file, entryField(file, target, target === 'service-account' ? 'key' : 'secret')),
  );
  checkChecksum(file, checksumLines(record));
  return record;
}

/** Whether the bundle already holds the new key of each target of the record. */
export function keyRecordStanding(
  record: KeyRotationRecord,
  bundle: SecretsBundle,
): Readonly<Partial<Record<KeyTarget, 'pending' | 'replaced'>>> {
  const standing: Partial<Record<KeyTarget, 'pending' | 'replaced'>> = {};
  for (const target of KEY_TARGETS) {
    const fresh = fingerprintOfNew(record, target);
    if (fresh !== undefined) standing[target] = heldBy(bundle, target).includes(fresh) ? 'replaced' : 'pending';
  }
  return standing;
}

function checkKeyRecord(record: KeyRotationRecord, bundle: SecretsBundle, placeOf: (target: KeyTarget) => Place): void {
  for (const target of KEY_TARGETS) {
    const fresh = fingerprintOfNew(record, target);
    if (fresh === undefined) continue;
    const replaced = replacedBy(record, target);
    const held = heldBy(bundle, target);
    if (fresh === replaced)
      throw new BundleError('unchanged', placeOf(target), `the new ${target} key equals the one that it replaces`);
    const isReplaced = held.includes(fresh) && !held.includes(replaced);
    if (isReplaced || (held.includes(replaced) && !held.includes(fresh))) continue;
    throw new BundleError(
      'mismatch',
      placeOf(target),
      `replaces the ${target} key ${replaced} by ${fresh}, but the bundle holds ${held.join(' and ')}: ` +
        'record and bundle belong to different rotations, or the bundle was exchanged meanwhile. Restore the one that fits',
    );
  }
}

function fingerprintOfNew(record: KeyRotationRecord, target: KeyTarget): Fingerprint | undefined {
  if (target === 'service-account') return record.targets[target]?.fingerprint;
  const key = record.targets[target];
  return key === undefined ? undefined : secretFingerprint(key.secret);
}

function heldBy(bundle: SecretsBundle, target: KeyTarget): Fingerprint[] {
  if (target === 'service-account') return [bundle.serviceAccount.fingerprint];
  return encryptionSecretsOf(bundle).map(secretFingerprint);
}

function encryptionSecretsOf(bundle: SecretsBundle): Secret<'encryption-key'>[] {
  return [bundle.secretboxEncryptionSecret, bundle.aescbcEncryptionSecret].filter((secret) => secret !== undefined);
}

function replacedBy(record: KeyRotationRecord, target: KeyTarget): Fingerprint {
  const replaces = record.replaces[target];
  if (replaces !== undefined) return replaces;
  throw new BundleError('missing', { path: 'keyrotation.yaml', field: target }, 'lacks what the new key replaces');
}

function checksumLines(record: KeyRotationRecord): string[] {
  const key = record.targets['etcd-encryption'];
  return KEY_TARGETS.flatMap((target) => {
    const fresh = fingerprintOfNew(record, target);
    if (fresh === undefined) return [];
    const identity = target === 'etcd-encryption' ? ` ${key?.provider} ${key?.name}` : '';
    return [`${target}${identity} ${fresh} ${replacedBy(record, target)}`];
  });
}

/** SHA-256 of the 32 random bytes of a key: names it and gives nothing away. */
function secretFingerprint(secret: Secret): Fingerprint {
  return createHash('sha256').update(Buffer.from(secret.expose(), 'base64')).digest('hex') as Fingerprint;
}

function readEncryptionKey(file: RecordFile): EncryptionKey {
  const entry = 'etcd-encryption';
  const provider = entryField(file, entry, 'provider');
  if (provider.text !== 'secretbox' && provider.text !== 'aescbc' && provider.text !== 'aesgcm') {
    throw new BundleError(
      'malformed',
      placeOfValue(file, provider),
      'is no provider; expected secretbox, aescbc or aesgcm',
    );
  }
  const secret = entryField(file, entry, 'secret');
  try {
    return parseEncryptionKey(provider.text, entryField(file, entry, 'name').text, secret.text);
  } catch (cause) {
    if (cause instanceof PkiError) throw new BundleError('malformed', placeOfValue(file, secret), cause.message);
    throw cause;
  }
}

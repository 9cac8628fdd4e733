import type { CaTarget, CertificateAndKey, Fingerprint } from '../pki/index.ts';
import { CA_TARGETS, caOf, type SecretsBundle } from './bundle.ts';
import { BundleError, type Place } from './error.ts';
import { checkReplacement, encodePem, readCa } from './material.ts';
import {
  checkChecksum,
  entryField,
  fingerprintField,
  parseRecordFile,
  pemField,
  placeOfValue,
  RECORD_VERSION,
  type RecordFrame,
  writeRecordFile,
} from './record-file.ts';

/** `rotation.yaml`: the new CAs of a rotation, durable before any machine is told anything. The targets present are the targets. */
export interface RotationRecord {
  readonly version: 1;
  /** The uid of the operation that this record belongs to; the record of one that is under way must not be taken up by another (ADR 0002). */
  readonly operation?: string;
  readonly targets: Readonly<Partial<Record<CaTarget, CertificateAndKey>>>;
  /** The certificate that each new CA takes the place of: what the bundle holds until the rotation finalizes. */
  readonly replaces: Readonly<Partial<Record<CaTarget, Fingerprint>>>;
}

const RECORD_KEYS: Readonly<Record<CaTarget, string>> = {
  talos: 'talos',
  kubernetes: 'kubernetes',
  etcd: 'etcd',
  'kubernetes-aggregator': 'aggregator',
};

const FRAME: RecordFrame = {
  about: 'Written by Ichor: the new certificate authorities of a rotation under way.',
  entries: Object.fromEntries(CA_TARGETS.map((target) => [RECORD_KEYS[target], ['crt', 'key', 'replaces']])),
};

/**
 * Makes the record of a rotation of `bundle`. Errors: {@link BundleError} where a new CA is none, does not fit its key,
 * equals the old one in certificate or key, or shares its key with another CA of the bundle or of the record.
 */
export function createRotationRecord(
  bundle: SecretsBundle,
  targets: Readonly<Partial<Record<CaTarget, CertificateAndKey>>>,
  options: { readonly operation?: string } = {},
): RotationRecord {
  const replaces: Partial<Record<CaTarget, Fingerprint>> = {};
  for (const target of targetsOf(targets)) replaces[target] = caOf(bundle, target).certificate.fingerprint;
  const record: RotationRecord = { version: RECORD_VERSION, ...options, targets, replaces };
  if (targetsOf(targets).length === 0)
    throw new BundleError('missing', { path: 'rotation.yaml' }, 'names nothing to replace');
  checkRecord(record, bundle, (target) => ({ path: 'rotation.yaml', field: RECORD_KEYS[target] }));
  return record;
}

/** The text of a record. Deterministic: what is read back and written again is the same. */
export function writeRotationRecord(record: RotationRecord): string {
  const entries = targetsOf(record.targets).map((target) => {
    const { ca, replaces } = entryOf(record, target);
    const fields = { crt: encodePem(ca.certificate.pem), key: encodePem(ca.key.expose()), replaces };
    return [RECORD_KEYS[target], fields] as const;
  });
  return writeRecordFile(FRAME, { operation: record.operation, checksumLines: checksumLines(record) }, entries);
}

/**
 * Reads and checks `rotation.yaml` against the bundle beside it. Accepted both before the bundle was replaced (the bundle
 * holds what the record `replaces`) and after (the bundle holds the new CA): a crash can fall between the two.
 * Errors: {@link BundleError} `newer-version`, `missing`, `malformed`, `mismatch` (key and certificate, checksum, or a
 * bundle that holds neither the old nor the new CA), `unchanged`.
 */
export function parseRotationRecord(text: string, where: string, bundle: SecretsBundle): RotationRecord {
  const file = parseRecordFile(text, where, FRAME);
  const targets: Partial<Record<CaTarget, CertificateAndKey>> = {};
  const replaces: Partial<Record<CaTarget, Fingerprint>> = {};
  for (const target of CA_TARGETS) {
    const key = RECORD_KEYS[target];
    if (!file.entries.has(key)) continue;
    targets[target] = readCa({ certificate: pemField(file, key, 'crt'), key: pemField(file, key, 'key') });
    replaces[target] = fingerprintField(file, key, 'replaces');
  }
  const { operation } = file;
  const record: RotationRecord = {
    version: RECORD_VERSION,
    ...(operation === undefined ? {} : { operation }),
    targets,
    replaces,
  };
  checkRecord(record, bundle, (target) => placeOfValue(file, entryField(file, RECORD_KEYS[target], 'crt')));
  checkChecksum(file, checksumLines(record));
  return record;
}

/** Whether the bundle already holds the new CA of each target of the record. */
export function recordStanding(
  record: RotationRecord,
  bundle: SecretsBundle,
): Readonly<Partial<Record<CaTarget, 'pending' | 'replaced'>>> {
  const standing: Partial<Record<CaTarget, 'pending' | 'replaced'>> = {};
  for (const target of targetsOf(record.targets)) {
    const { ca } = entryOf(record, target);
    const isNew = caOf(bundle, target).certificate.fingerprint === ca.certificate.fingerprint;
    standing[target] = isNew ? 'replaced' : 'pending';
  }
  return standing;
}

/** The targets of a record, in the order of {@link CA_TARGETS}. */
export function targetsOf(targets: RotationRecord['targets']): CaTarget[] {
  return CA_TARGETS.filter((target) => targets[target] !== undefined);
}

function checkRecord(record: RotationRecord, bundle: SecretsBundle, placeOf: (target: CaTarget) => Place): void {
  const holders = new Map<string, string>();
  for (const target of CA_TARGETS) {
    const { certificate } = caOf(bundle, target);
    if (certificate.fingerprint !== record.targets[target]?.certificate.fingerprint) {
      holders.set(certificate.publicKeyFingerprint, `the ${target} CA of the bundle`);
    }
  }
  for (const target of targetsOf(record.targets)) {
    const { ca, replaces } = entryOf(record, target);
    const at = placeOf(target);
    const held = caOf(bundle, target);
    const { fingerprint, publicKeyFingerprint } = ca.certificate;
    if (replaces === fingerprint)
      throw new BundleError('unchanged', at, `the new ${target} CA ${fingerprint} equals the one that it replaces`);
    if (held.certificate.fingerprint !== fingerprint) {
      checkReplacement(target, held, ca, at);
      if (held.certificate.fingerprint !== replaces)
        throw foreign(target, { held: held.certificate.fingerprint, replaces, fingerprint }, at);
    }
    const holder = holders.get(publicKeyFingerprint);
    if (holder !== undefined)
      throw new BundleError('mismatch', at, `the new ${target} CA has the same key as ${holder}`);
    holders.set(publicKeyFingerprint, `the new ${target} CA`);
  }
}

function foreign(
  target: CaTarget,
  found: { held: Fingerprint; replaces: Fingerprint; fingerprint: Fingerprint },
  at: Place,
): BundleError {
  return new BundleError(
    'mismatch',
    at,
    `replaces the ${target} CA ${found.replaces} by ${found.fingerprint}, but the bundle holds ${found.held}: ` +
      'record and bundle belong to different rotations, or the bundle was exchanged meanwhile. Restore the one that fits',
  );
}

function entryOf(record: RotationRecord, target: CaTarget): { ca: CertificateAndKey; replaces: Fingerprint } {
  const ca = record.targets[target];
  const replaces = record.replaces[target];
  if (ca === undefined || replaces === undefined) {
    throw new BundleError(
      'missing',
      { path: 'rotation.yaml', field: RECORD_KEYS[target] },
      'lacks the new CA or what it replaces',
    );
  }
  return { ca, replaces };
}

/** Public values only. The private key needs no line: it must fit its certificate. */
function checksumLines(record: RotationRecord): string[] {
  return targetsOf(record.targets).map((target) => {
    const { ca, replaces } = entryOf(record, target);
    return `${RECORD_KEYS[target]} ${ca.certificate.fingerprint} ${replaces}`;
  });
}

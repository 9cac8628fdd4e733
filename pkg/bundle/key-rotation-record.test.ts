import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { aBundleDocument } from '../../test/builders/bundle.ts';
import {
  createEncryptionKey,
  createServiceAccountKey,
  type EncryptionKey,
  type ServiceAccountKey,
} from '../pki/index.ts';
import type { BundleDocument } from './document.ts';
import {
  createKeyRotationRecord,
  keyRecordStanding,
  parseKeyRotationRecord,
  writeKeyRotationRecord,
} from './key-rotation-record.ts';

let document: BundleDocument;
let encryption: EncryptionKey;
let serviceAccount: ServiceAccountKey;
let text: string;

beforeAll(async () => {
  document = await aBundleDocument();
  encryption = createEncryptionKey('secretbox', 'key3', (length) => Buffer.alloc(length, 7));
  serviceAccount = await createServiceAccountKey({ algorithm: 'ecdsa-p256' });
  text = writeKeyRotationRecord(
    createKeyRotationRecord(
      document.bundle,
      { 'etcd-encryption': encryption, 'service-account': serviceAccount },
      { operation: 'uid-1' },
    ),
  );
});

const parse = (changed: string, bundle = document.bundle) =>
  parseKeyRotationRecord(changed, 'keyrotation.yaml', bundle);

describe('keyrotation.yaml', () => {
  it('is read back as it was written, and written again byte for byte', () => {
    const record = parse(text);

    expect(record.targets['etcd-encryption']?.name).toBe('key3');
    expect(record.targets['etcd-encryption']?.secret.equals(encryption.secret)).toBe(true);
    expect(record.targets['service-account']?.fingerprint).toBe(serviceAccount.fingerprint);
    expect(record.replaces['service-account']).toBe(document.bundle.serviceAccount.fingerprint);
    expect(writeKeyRotationRecord(record)).toBe(text);
  });

  it('holds only the targets that are rotated', () => {
    const written = writeKeyRotationRecord(
      createKeyRotationRecord(document.bundle, { 'service-account': serviceAccount }),
    );

    expect(Object.keys(parse(written).targets)).toEqual(['service-account']);
  });

  it('stands pending before the bundle was replaced and replaced after', () => {
    const record = parse(text);
    const { bundle } = document.replace(record.targets);

    expect(keyRecordStanding(record, document.bundle)).toEqual({
      'etcd-encryption': 'pending',
      'service-account': 'pending',
    });
    expect(keyRecordStanding(parse(text, bundle), bundle)).toEqual({
      'etcd-encryption': 'replaced',
      'service-account': 'replaced',
    });
  });

  it('prints no key', () => {
    expect(inspect(parse(text), { depth: null, showHidden: true })).not.toContain(encryption.secret.expose());
  });

  it.each([
    [
      'a newer version',
      (t: string) => t.replace('version: 1', 'version: 9'),
      'keyrotation.yaml:3: version: is 9: written by a newer Ichor; this one reads up to 1. Go on with the newer one',
    ],
    [
      'an unknown provider',
      (t: string) => t.replace('provider: secretbox', 'provider: kms'),
      'keyrotation.yaml:7: etcd-encryption.provider: is no provider; expected secretbox, aescbc or aesgcm',
    ],
    [
      'a missing secret',
      (t: string) => t.replace(/ {4}secret: .*\n/, ''),
      'keyrotation.yaml:7: etcd-encryption.secret: is missing or empty: the record is damaged. Restore it from a copy',
    ],
    [
      'a short secret',
      (t: string) => t.replace(/ {4}secret: .*/, '    secret: AAAA'),
      'keyrotation.yaml:9: etcd-encryption.secret: secretbox key key3: expected 32 bytes, found 3',
    ],
    [
      'another name for the key',
      (t: string) => t.replace('"key3"', '"key4"'),
      'keyrotation.yaml:5: checksum: does not fit the entries: the record was changed or cut off after it was written. Restore it from a copy',
    ],
    [
      'a field that is not known',
      (t: string) => `${t}    note: x\n`,
      'keyrotation.yaml:14: service-account.note: is not known here; expected key, replaces',
    ],
  ])('refuses %s', (_what, change, message) => {
    expect(() => parse(change(text))).toThrow(message);
  });

  it('refuses keys that equal the old ones, and a bundle of another rotation', () => {
    const { bundle } = document;
    const held = bundle.secretboxEncryptionSecret;
    if (held === undefined) throw new Error('the fixture has a secretbox key');
    const elsewhere = document.replace({ 'etcd-encryption': createEncryptionKey('secretbox', 'key3') }).bundle;

    expect(() => createKeyRotationRecord(bundle, { 'service-account': bundle.serviceAccount })).toThrow(
      'keyrotation.yaml: service-account: the new service-account key equals the one that it replaces',
    );
    expect(() =>
      createKeyRotationRecord(bundle, { 'etcd-encryption': { provider: 'secretbox', name: 'key3', secret: held } }),
    ).toThrow('keyrotation.yaml: etcd-encryption: the new etcd-encryption key equals the one that it replaces');
    expect(() => createKeyRotationRecord(bundle, {})).toThrow('keyrotation.yaml: names nothing to replace');
    expect(() => parse(text, elsewhere)).toThrow(
      /^keyrotation\.yaml:9: etcd-encryption\.secret: replaces the etcd-encryption key [0-9a-f]{64} by [0-9a-f]{64}, but the bundle holds [0-9a-f]{64}: record and bundle belong to different rotations/,
    );
  });
});

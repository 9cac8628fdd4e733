import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { aBundleDocument, aNewCa } from '../../test/builders/bundle.ts';
import type { CertificateAndKey } from '../pki/index.ts';
import type { BundleDocument } from './document.ts';
import type { BundleError } from './error.ts';
import { createRotationRecord, parseRotationRecord, recordStanding, writeRotationRecord } from './rotation-record.ts';

let document: BundleDocument;
let talos: CertificateAndKey;
let etcd: CertificateAndKey;
let text: string;

beforeAll(async () => {
  document = await aBundleDocument();
  [talos, etcd] = await Promise.all([aNewCa('talos'), aNewCa('etcd')]);
  text = writeRotationRecord(createRotationRecord(document.bundle, { etcd, talos }, { operation: 'uid-1' }));
});

const parse = (changed: string, bundle = document.bundle) => parseRotationRecord(changed, 'rotation.yaml', bundle);

function refusal(changed: string): { kind: string; message: string } {
  try {
    parse(changed);
  } catch (error) {
    const { kind, message } = error as BundleError;
    return { kind, message };
  }
  return { kind: 'none', message: 'accepted' };
}

describe('rotation.yaml', () => {
  it('holds the targets in a fixed order, with what each new CA replaces', () => {
    const keys = text
      .split('\n')
      .filter((line) => /^[a-z]/.test(line))
      .map((line) => line.replace(/:.*/, ''));

    expect(keys).toEqual(['version', 'operation', 'checksum', 'talos', 'etcd']);
    expect(text).toContain(`    replaces: ${document.bundle.etcd.certificate.fingerprint}\n`);
  });

  it('is read back as it was written, and written again byte for byte', () => {
    const record = parse(text);

    expect(record.operation).toBe('uid-1');
    expect(Object.keys(record.targets)).toEqual(['talos', 'etcd']);
    expect(record.targets.talos?.certificate.fingerprint).toBe(talos.certificate.fingerprint);
    expect(record.targets.etcd?.key.equals(etcd.key)).toBe(true);
    expect(record.targets.kubernetes).toBeUndefined();
    expect(writeRotationRecord(record)).toBe(text);
  });

  it('names the aggregator target as the seed of this format does', async () => {
    const aggregator = await aNewCa('kubernetes-aggregator');

    const written = writeRotationRecord(createRotationRecord(document.bundle, { 'kubernetes-aggregator': aggregator }));

    expect(written).toMatch(/^aggregator:\n {4}crt: /m);
    expect(parse(written).targets['kubernetes-aggregator']?.certificate.fingerprint).toBe(
      aggregator.certificate.fingerprint,
    );
  });

  it('survives the edits that do not touch its meaning', () => {
    expect(parse(`# note\n${text.replaceAll('\n', '\r\n')}`).targets.etcd?.certificate.fingerprint).toBe(
      etcd.certificate.fingerprint,
    );
  });

  it('stands pending before the bundle was replaced and replaced after, and is read in both', () => {
    const record = parse(text);
    const replaced = document.replace(record.targets);

    expect(recordStanding(record, document.bundle)).toEqual({ talos: 'pending', etcd: 'pending' });
    expect(recordStanding(parse(text, replaced.bundle), replaced.bundle)).toEqual({
      talos: 'replaced',
      etcd: 'replaced',
    });
  });

  it('prints no key', () => {
    const printed = inspect(parse(text), { depth: null, showHidden: true }) + JSON.stringify(parse(text));

    expect(printed).not.toContain('PRIVATE KEY');
    expect(printed).not.toContain(talos.key.expose().split('\n')[1]);
  });
});

describe('rotation.yaml is refused', () => {
  it.each([
    [
      'from a newer Ichor',
      (t: string) => t.replace('version: 1', 'version: 2'),
      'newer-version',
      'rotation.yaml:3: version: is 2: written by a newer Ichor; this one reads up to 1. Go on with the newer one',
    ],
    [
      'with a version that is none',
      (t: string) => t.replace('version: 1', 'version: one'),
      'malformed',
      'rotation.yaml:3: version: is no version; expected 1',
    ],
    [
      'without a version',
      (t: string) => t.replace('version: 1\n', ''),
      'missing',
      'rotation.yaml:1: version: is missing; this is no rotation record, or it is damaged',
    ],
    [
      'with a key that is not known',
      (t: string) => `${t}frontproxy:\n    crt: x\n`,
      'malformed',
      'rotation.yaml:14: frontproxy: is not known here; expected version, operation, checksum, talos, kubernetes, etcd, aggregator',
    ],
    [
      'with an unknown field in an entry',
      (t: string) => `${t}    note: x\n`,
      'malformed',
      'rotation.yaml:14: etcd.note: is not known here; expected crt, key, replaces',
    ],
    [
      'without a key',
      (t: string) => t.replace(/etcd:\n(.*\n).*\n/, 'etcd:\n$1'),
      'missing',
      'rotation.yaml:11: etcd.key: is missing or empty: the record is damaged. Restore it from a copy',
    ],
    [
      'with an empty entry',
      (t: string) => t.replace(/etcd:\n(.*\n){3}/, 'etcd:\n'),
      'malformed',
      'rotation.yaml:10: etcd: is no mapping',
    ],
    [
      'with no target',
      (t: string) => t.replace(/talos:\n[\s\S]*/, ''),
      'missing',
      'rotation.yaml:1: names nothing to replace; expected one of talos, kubernetes, etcd, aggregator',
    ],
    [
      'when an entry was cut off',
      (t: string) => t.replace(/etcd:\n[\s\S]*/, ''),
      'mismatch',
      'rotation.yaml:5: checksum: does not fit the entries: the record was changed or cut off after it was written. Restore it from a copy',
    ],
    [
      'when the operation was exchanged',
      (t: string) => t.replace('uid-1', 'uid-2'),
      'mismatch',
      'rotation.yaml:5: checksum: does not fit the entries: the record was changed or cut off after it was written. Restore it from a copy',
    ],
    [
      'with base64 that is none',
      (t: string) => t.replace(/(etcd:\n {4}crt: ).*/, '$1a%b'),
      'malformed',
      'rotation.yaml:11: etcd.crt: is not base64',
    ],
    [
      'with a fingerprint that is none',
      (t: string) => t.replace(/(etcd:\n.*\n.*\n {4}replaces: ).*/, '$1abc'),
      'malformed',
      'rotation.yaml:13: etcd.replaces: is no fingerprint; expected 64 hexadecimal digits',
    ],
    ['when it is empty', () => '', 'missing', 'rotation.yaml: is empty'],
  ])('%s', (_what, change, kind, message) => {
    expect(refusal(change(text))).toEqual({ kind, message });
  });

  it('when a certificate does not fit its key', async () => {
    const stranger = await aNewCa('etcd');
    const changed = text.replace(
      /(etcd:\n {4}crt: ).*/,
      `$1${Buffer.from(stranger.certificate.pem).toString('base64')}`,
    );

    expect(refusal(changed)).toEqual({
      kind: 'mismatch',
      message: `rotation.yaml:12: etcd.key: the key does not fit the certificate ${stranger.certificate.fingerprint} (O=etcd)`,
    });
  });

  it('when the new CA is the old one', () => {
    const { bundle } = document;

    expect(() => createRotationRecord(bundle, { etcd: bundle.etcd })).toThrow(
      `rotation.yaml: etcd: the new etcd CA ${bundle.etcd.certificate.fingerprint} equals the one that it replaces`,
    );
  });

  it('when two targets share one key', () => {
    expect(() => createRotationRecord(document.bundle, { etcd, kubernetes: etcd })).toThrow(
      'rotation.yaml: etcd: the new etcd CA has the same key as the new kubernetes CA',
    );
    expect(() => createRotationRecord(document.bundle, { etcd: document.bundle.kubernetes })).toThrow(
      'rotation.yaml: etcd: the new etcd CA has the same key as the kubernetes CA of the bundle',
    );
  });

  it('when it names nothing', () => {
    expect(() => createRotationRecord(document.bundle, {})).toThrow('rotation.yaml: names nothing to replace');
  });

  it('beside a bundle of another rotation', async () => {
    const elsewhere = document.replace({ etcd: await aNewCa('etcd') }).bundle;

    expect(() => parse(text, elsewhere)).toThrow(
      `rotation.yaml:11: etcd.crt: replaces the etcd CA ${document.bundle.etcd.certificate.fingerprint} by ${etcd.certificate.fingerprint}, ` +
        `but the bundle holds ${elsewhere.etcd.certificate.fingerprint}: record and bundle belong to different rotations`,
    );
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../test/builders/machine-config.ts';
import { accessOf } from './access.ts';
import { type Known, knownOf } from './known.ts';
import type { Change } from './model.ts';
import { serviceAccountHome } from './targets/service-account.ts';
import { talosHome } from './targets/talos.ts';

let before: ClusterMaterial;
let after: ClusterMaterial;
let changes: readonly Change[];

beforeAll(async () => {
  before = await someMaterial('key2');
  after = await someMaterial('key3');
  changes = changesBetween(before, after);
});

const nothing = (): Known => knownOf([]);

describe('material that a caller has read', () => {
  it('is that of both sides of every change, by its text', () => {
    const { certificates, publicKeys, keys } = knownOf(changes);
    const cas = [before, after].flatMap(({ talos, kubernetes, etcd, aggregator }) => [
      talos,
      kubernetes,
      etcd,
      aggregator,
    ]);
    const accounts = [before.serviceAccount, after.serviceAccount];

    expect(certificates.size).toBe(8);
    for (const { certificate } of cas) expect(certificates.get(certificate.pem)).toBe(certificate);
    expect(publicKeys).toEqual(
      new Map(accounts.map(({ publicKey, fingerprint }) => [publicKey, { pem: publicKey, fingerprint }])),
    );
    expect(keys.map(({ fingerprint }) => fingerprint).toSorted()).toEqual(
      [
        ...cas.map(({ certificate }) => certificate.publicKeyFingerprint),
        ...accounts.map(({ fingerprint }) => fingerprint),
      ].toSorted(),
    );
    for (const { key, certificate } of cas) {
      expect(keys.find((each) => each.key.equals(key))?.fingerprint).toBe(certificate.publicKeyFingerprint);
    }
  });

  it('is nothing without a change', () => {
    expect(nothing()).toEqual({ certificates: new Map(), publicKeys: new Map(), keys: [] });
  });

  it('is not read again', () => {
    const fingerprint = after.talos.certificate.publicKeyFingerprint;
    const text = aMachineConfig({ material: before, shape: 'typed' }).replace(
      /(kind: KubeServiceAccountConfig\n)/,
      `$1accepted: {publicKeys: [${JSON.stringify(after.serviceAccount.publicKey)}]}\n`,
    );
    const access = accessOf(text, 'cp-1', {
      certificates: new Map([[before.talos.certificate.pem, after.talos.certificate]]),
      publicKeys: new Map([[after.serviceAccount.publicKey, { pem: 'x', fingerprint }]]),
      keys: [{ key: before.talos.key, fingerprint }],
    });

    expect(talosHome(access).issuing?.certificates).toEqual([after.talos.certificate]);
    expect(talosHome(access).issuing?.keyFingerprint()).toBe(fingerprint);
    expect(serviceAccountHome(access)?.issuer).toBe(before.serviceAccount.fingerprint);
    expect(serviceAccountHome(access)?.accepted?.entries).toEqual([[{ id: fingerprint, pem: 'x' }]]);
  });

  it('does not hide what stands beside it', () => {
    const two = base64(before.talos.certificate.pem + before.etcd.certificate.pem);
    const text = aMachineConfig({ material: before }).replace(base64(before.talos.certificate.pem), two);
    const access = accessOf(text, 'cp-1', {
      ...nothing(),
      certificates: new Map([[before.talos.certificate.pem, before.talos.certificate]]),
    });

    expect(talosHome(access).issuing?.certificates.map(({ fingerprint }) => fingerprint)).toEqual([
      before.talos.certificate.fingerprint,
      before.etcd.certificate.fingerprint,
    ]);
  });
});

describe('what is read once for a text', () => {
  it('is kept under its name, also where it is nothing', () => {
    const access = accessOf(aMachineConfig({ material: before }));
    let times = 0;
    const read = (name: string, value: unknown) =>
      access.once(name, () => {
        times += 1;
        return value;
      });

    expect([read('a', undefined), read('a', 1), read('b', 2), read('b', 3)]).toEqual([undefined, undefined, 2, 2]);
    expect(times).toBe(2);
  });
});

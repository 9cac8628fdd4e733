import { beforeAll, describe, expect, it } from 'vitest';
import { aCa } from '../../test/builders/certificates.ts';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
  withEncryptionRules,
} from '../../test/builders/machine-config.ts';
import { documentsOf, type Fields } from '../../test/builders/read-config.ts';
import type { CertificateAndKey } from '../pki/index.ts';
import { createEncryptionKey } from '../pki/index.ts';
import { type Change, drift, type RenderStage, renderStage, stageOf, type Target } from './index.ts';

const STAGES: readonly RenderStage[] = ['Accepting', 'Issuing', 'Dropping'];

describe('the table of stages', () => {
  let before: ClusterMaterial;
  let after: ClusterMaterial;
  let changes: Change[];

  beforeAll(async () => {
    before = await someMaterial('key2');
    after = await someMaterial('key3');
    changes = changesBetween(before, after);
  });

  const change = (target: Target) => changes.filter((each) => each.target === target);

  function rendered(
    target: Target,
    stage: RenderStage,
    options: Omit<Parameters<typeof aMachineConfig>[0], 'material'>,
  ) {
    const config = aMachineConfig({ ...options, material: before });
    return documentsOf(renderStage(config, change(target), stage, { talosVersion: 'v1.14.1' }));
  }

  const crt = ({ certificate }: CertificateAndKey) => base64(certificate.pem);
  const key = (ca: CertificateAndKey) => base64(ca.key.expose());
  const both = (first: CertificateAndKey, second: CertificateAndKey) =>
    base64(first.certificate.pem + second.certificate.pem);

  describe('talos', () => {
    it('control planes: accepted, then issuing with the old one accepted, then alone', () => {
      const at = (stage: RenderStage) => {
        const { ca, acceptedCAs } = rendered('talos', stage, {}).old.machine;
        return { ca, acceptedCAs };
      };

      expect(at('Accepting')).toEqual({
        ca: { crt: crt(before.talos), key: key(before.talos) },
        acceptedCAs: [{ crt: crt(after.talos) }],
      });
      expect(at('Issuing')).toEqual({
        ca: { crt: crt(after.talos), key: key(after.talos) },
        acceptedCAs: [{ crt: crt(before.talos) }],
      });
      expect(at('Dropping')).toEqual({ ca: { crt: crt(after.talos), key: key(after.talos) }, acceptedCAs: undefined });
    });

    it('workers: the same without the key', () => {
      const at = (stage: RenderStage) => {
        const { ca, acceptedCAs } = rendered('talos', stage, { role: 'worker' }).old.machine;
        return { ca, acceptedCAs };
      };

      expect(at('Accepting')).toEqual({
        ca: { crt: crt(before.talos), key: '' },
        acceptedCAs: [{ crt: crt(after.talos) }],
      });
      expect(at('Issuing')).toEqual({
        ca: { crt: crt(after.talos), key: '' },
        acceptedCAs: [{ crt: crt(before.talos) }],
      });
      expect(at('Dropping')).toEqual({ ca: { crt: crt(after.talos), key: '' }, acceptedCAs: undefined });
    });

    it('a worker that only accepts, without a CA of its own, tells the stages by the order of its list', () => {
      const config = aMachineConfig({ role: 'worker', material: before }).replace(
        / {4}ca:\n {8}crt: (\S+)\n {8}key: ""/,
        '    acceptedCAs:\n        - crt: $1',
      );
      const at = (stage: RenderStage) =>
        documentsOf(renderStage(config, change('talos'), stage, { talosVersion: 'v1.14.1' })).old.machine.acceptedCAs;

      expect(at('Accepting')).toEqual([{ crt: crt(before.talos) }, { crt: crt(after.talos) }]);
      expect(at('Issuing')).toEqual([{ crt: crt(after.talos) }, { crt: crt(before.talos) }]);
      expect(at('Dropping')).toEqual([{ crt: crt(after.talos) }]);
    });
  });

  describe('kubernetes', () => {
    it('old document: cluster.ca and cluster.acceptedCAs', () => {
      const at = (stage: RenderStage) => {
        const { ca, acceptedCAs } = rendered('kubernetes', stage, {}).old.cluster;
        return { ca, acceptedCAs };
      };

      expect(at('Accepting').acceptedCAs).toEqual([{ crt: crt(after.kubernetes) }]);
      expect(at('Accepting').ca.crt).toBe(crt(before.kubernetes));
      expect(at('Issuing')).toEqual({
        ca: { crt: crt(after.kubernetes), key: key(after.kubernetes) },
        acceptedCAs: [{ crt: crt(before.kubernetes) }],
      });
      expect(at('Dropping').acceptedCAs).toBeUndefined();
    });

    it.each(['typed', 'mixed'] as const)('%s control planes: issuingCA and acceptedCAs, as plain PEM', (shape) => {
      const at = (stage: RenderStage) => {
        const { issuingCA, acceptedCAs } = rendered('kubernetes', stage, { shape }).KubeAPIServerCAConfig;
        return { issuingCA, acceptedCAs };
      };
      const issuing = (ca: CertificateAndKey) => ({ cert: ca.certificate.pem, key: ca.key.expose() });

      expect(at('Accepting')).toEqual({
        issuingCA: issuing(before.kubernetes),
        acceptedCAs: [after.kubernetes.certificate.pem],
      });
      expect(at('Issuing')).toEqual({
        issuingCA: issuing(after.kubernetes),
        acceptedCAs: [before.kubernetes.certificate.pem],
      });
      expect(at('Dropping')).toEqual({ issuingCA: issuing(after.kubernetes), acceptedCAs: undefined });
    });

    it('typed workers: a list alone, the one that issues first', () => {
      const at = (stage: RenderStage) =>
        rendered('kubernetes', stage, { shape: 'typed', role: 'worker' }).KubeAPIServerCAConfig;
      const older = before.kubernetes.certificate.pem;
      const newer = after.kubernetes.certificate.pem;

      expect(at('Accepting')).toEqual({
        apiVersion: 'v1alpha1',
        kind: 'KubeAPIServerCAConfig',
        acceptedCAs: [older, newer],
      });
      expect(at('Issuing').acceptedCAs).toEqual([newer, older]);
      expect(at('Dropping').acceptedCAs).toEqual([newer]);
    });

    it('what others accept stays in its place through every stage', async () => {
      const foreign = await aCa('kubernetes');
      const style = { foreign: [foreign] };
      const at = (stage: RenderStage) =>
        rendered('kubernetes', stage, { shape: 'typed', role: 'worker', style }).KubeAPIServerCAConfig.acceptedCAs;
      const older = before.kubernetes.certificate.pem;
      const newer = after.kubernetes.certificate.pem;

      expect(at('Accepting')).toEqual([older, foreign.certificate.pem, newer]);
      expect(at('Issuing')).toEqual([newer, foreign.certificate.pem, older]);
      expect(at('Dropping')).toEqual([newer, foreign.certificate.pem]);
    });
  });

  describe('etcd', () => {
    it.each(['legacy', 'typed'] as const)(
      '%s: both certificates in one field, the one whose key is there first',
      (shape) => {
        const at = (stage: RenderStage) => rendered('etcd', stage, { shape }).old.cluster.etcd.ca;

        expect(at('Accepting')).toEqual({ crt: both(before.etcd, after.etcd), key: key(before.etcd) });
        expect(at('Issuing')).toEqual({ crt: both(after.etcd, before.etcd), key: key(after.etcd) });
        expect(at('Dropping')).toEqual({ crt: crt(after.etcd), key: key(after.etcd) });
      },
    );
  });

  describe('kubernetes-aggregator', () => {
    it('typed: issuingCA and acceptedCAs', () => {
      const at = (stage: RenderStage) =>
        rendered('kubernetes-aggregator', stage, { shape: 'typed' }).KubeAggregatorCAConfig;

      expect(at('Accepting').acceptedCAs).toEqual([after.aggregator.certificate.pem]);
      expect(at('Issuing').issuingCA.cert).toBe(after.aggregator.certificate.pem);
      expect(at('Issuing').acceptedCAs).toEqual([before.aggregator.certificate.pem]);
      expect(at('Dropping').acceptedCAs).toBeUndefined();
    });

    it('old on 1.14: moves to the document, and leaves its old field', () => {
      const at = rendered('kubernetes-aggregator', 'Accepting', {});

      expect(at.old.cluster).not.toHaveProperty('aggregatorCA');
      expect(at.KubeAggregatorCAConfig).toEqual({
        apiVersion: 'v1alpha1',
        kind: 'KubeAggregatorCAConfig',
        issuingCA: { cert: before.aggregator.certificate.pem, key: before.aggregator.key.expose() },
        acceptedCAs: [after.aggregator.certificate.pem],
      });
    });
  });

  describe('etcd-encryption', () => {
    const keysAt = (config: Fields) =>
      config.KubeEtcdEncryptionConfig.config.resources.map((rule: Fields) =>
        rule.providers.flatMap((provider: Fields) =>
          Object.entries(provider).flatMap(([name, body]) =>
            ((body as Fields).keys ?? [{ name: '' }]).map((each: { name: string }) => `${name} ${each.name}`.trim()),
          ),
        ),
      );

    it('typed: behind the old key, before it, alone', () => {
      const at = (stage: RenderStage) => keysAt(rendered('etcd-encryption', stage, { shape: 'typed' }));

      expect(at('Accepting')).toEqual([['secretbox key2', 'secretbox key3', 'identity']]);
      expect(at('Issuing')).toEqual([['secretbox key3', 'secretbox key2', 'identity']]);
      expect(at('Dropping')).toEqual([['secretbox key3', 'identity']]);
    });

    it('old on 1.14: moves with the names that Talos gives the old fields, in its order', () => {
      const aescbc = createEncryptionKey('aescbc', 'key1');
      const config = aMachineConfig({ material: before }).replace(
        '    serviceAccount:',
        `    aescbcEncryptionSecret: ${aescbc.secret.expose()}\n    serviceAccount:`,
      );

      const moved = documentsOf(
        renderStage(config, change('etcd-encryption'), 'Accepting', { talosVersion: 'v1.14.1' }),
      );

      expect(keysAt(moved)).toEqual([['secretbox key2', 'secretbox key3', 'aescbc key1', 'identity']]);
      expect(moved.KubeEtcdEncryptionConfig.config.resources[0].resources).toEqual(['secrets']);
      expect(moved.old.cluster).not.toHaveProperty('secretboxEncryptionSecret');
      expect(moved.old.cluster).not.toHaveProperty('aescbcEncryptionSecret');
    });

    const withRules = (rules: readonly object[]) =>
      withEncryptionRules(aMachineConfig({ material: before, shape: 'typed' }), rules);
    const secretbox = (...keys: ClusterMaterial['encryption'][]) => ({
      secretbox: { keys: keys.map(({ name, secret }) => ({ name, secret: secret.expose() })) },
    });

    it('every rule that holds the old key, whatever else it holds; a rule that does not write keeps its order', () => {
      const kms = { kms: { apiVersion: 'v2', name: 'vault', endpoint: 'unix:///kms.sock', timeout: '3s' } };
      const config = withRules([
        { resources: ['secrets', 'configmaps'], providers: [secretbox(before.encryption), kms, { identity: {} }] },
        { resources: ['*.example.org'], providers: [{ identity: {} }, secretbox(before.encryption)] },
        { resources: ['*.*'], providers: [kms, { identity: {} }] },
      ]);
      const at = (stage: RenderStage) =>
        renderStage(config, change('etcd-encryption'), stage, { talosVersion: 'v1.14.1' });

      expect(keysAt(documentsOf(at('Accepting')))).toEqual([
        ['secretbox key2', 'secretbox key3', 'kms', 'identity'],
        ['identity', 'secretbox key2', 'secretbox key3'],
        ['kms', 'identity'],
      ]);
      expect(keysAt(documentsOf(at('Issuing')))[1]).toEqual(['identity', 'secretbox key3', 'secretbox key2']);
      expect(keysAt(documentsOf(at('Dropping')))).toEqual([
        ['secretbox key3', 'kms', 'identity'],
        ['identity', 'secretbox key3'],
        ['kms', 'identity'],
      ]);
      expect(documentsOf(at('Dropping')).KubeEtcdEncryptionConfig.config.resources[0].providers[1]).toEqual(kms);
    });

    it('from one provider to another: an entry of its own beside the old one', () => {
      const aescbc = createEncryptionKey('aescbc', 'key1');
      const config = withRules([
        {
          resources: ['secrets'],
          providers: [{ aescbc: { keys: [{ name: 'key1', secret: aescbc.secret.expose() }] } }, { identity: {} }],
        },
      ]);
      const switching: Change[] = [{ target: 'etcd-encryption', old: aescbc, new: after.encryption }];
      const stages = STAGES.map((stage) => renderStage(config, switching, stage, { talosVersion: 'v1.14.1' }));
      const passed = STAGES.reduce(
        (text, stage) => renderStage(text, switching, stage, { talosVersion: 'v1.14.1' }),
        config,
      );

      expect(stages.map((text) => keysAt(documentsOf(text)))).toEqual([
        [['aescbc key1', 'secretbox key3', 'identity']],
        [['secretbox key3', 'aescbc key1', 'identity']],
        [['secretbox key3', 'identity']],
      ]);
      expect(passed).toBe(stages[2]);
    });

    it('refuses a new key under the name of the old one, and an old key that does not write', () => {
      const twin = createEncryptionKey('secretbox', 'key2');
      const reading = createEncryptionKey('aescbc', 'key1');
      const config = withRules([
        {
          resources: ['secrets'],
          providers: [
            secretbox(before.encryption),
            { aescbc: { keys: [{ name: 'key1', secret: reading.secret.expose() }] } },
          ],
        },
      ]);
      const render = (old: typeof twin, next: typeof twin) => () =>
        renderStage(config, [{ target: 'etcd-encryption', old, new: next }], 'Accepting', { talosVersion: 'v1.14.1' });

      expect(render(before.encryption, twin)).toThrow('another secret under the name of the secretbox key key2');
      expect(render(reading, after.encryption)).toThrow(
        'the aescbc key key1 writes in no rule, it only reads; rotate the key that writes, and drop this one when no object names it',
      );
    });
  });

  describe('service-account', () => {
    it('typed: the public key accepted, then the private key in place, then the old one gone', () => {
      const at = (stage: RenderStage) =>
        rendered('service-account', stage, { shape: 'typed' }).KubeServiceAccountConfig;
      const issuer = (each: ClusterMaterial) => ({
        privateKey: each.serviceAccount.privateKey.expose(),
        issuerURL: 'https://10.0.0.9:6443',
      });

      expect(at('Accepting')).toMatchObject({
        issuer: issuer(before),
        accepted: { publicKeys: [after.serviceAccount.publicKey] },
      });
      expect(at('Issuing')).toMatchObject({
        issuer: issuer(after),
        accepted: { publicKeys: [before.serviceAccount.publicKey] },
      });
      expect(at('Dropping')).toEqual({
        apiVersion: 'v1alpha1',
        kind: 'KubeServiceAccountConfig',
        issuer: issuer(after),
      });
    });

    it('issuers and audiences that are accepted stay as they are', () => {
      const config = aMachineConfig({ material: before, shape: 'typed' }).replace(
        '    issuerURL: https://10.0.0.9:6443\n',
        '    issuerURL: https://10.0.0.9:6443\naccepted:\n    issuers: [https://old.example.org]\n    audiences:\n    - one # kept\n',
      );
      const passed = STAGES.map((stage) =>
        renderStage(config, change('service-account'), stage, { talosVersion: 'v1.14.1' }),
      );

      for (const text of passed) {
        expect(documentsOf(text).KubeServiceAccountConfig.accepted).toMatchObject({
          issuers: ['https://old.example.org'],
          audiences: ['one'],
        });
        expect(text).toContain('    audiences:\n    - one # kept\n');
      }
      expect(documentsOf(passed[2] ?? '').KubeServiceAccountConfig.accepted).not.toHaveProperty('publicKeys');
    });

    it('old on 1.14: moves to the document with the endpoint as issuer', () => {
      const at = rendered('service-account', 'Issuing', {});

      expect(at.old.cluster).not.toHaveProperty('serviceAccount');
      expect(at.KubeServiceAccountConfig).toEqual({
        apiVersion: 'v1alpha1',
        kind: 'KubeServiceAccountConfig',
        issuer: { privateKey: after.serviceAccount.privateKey.expose(), issuerURL: 'https://10.0.0.9:6443' },
        accepted: { publicKeys: [before.serviceAccount.publicKey] },
      });
    });
  });

  it('an accepting old configuration changes exactly one line, and its other bytes stay', () => {
    const config = aMachineConfig({ material: before });

    const text = renderStage(config, change('kubernetes'), 'Accepting', { talosVersion: 'v1.13.9' });

    const lines = config.split('\n');
    const at = lines.findIndex((line) => line.includes(key(before.kubernetes)));
    lines.splice(at + 1, 0, '    acceptedCAs:', `        - crt: ${crt(after.kubernetes)}`);
    expect(text).toBe(lines.join('\n'));
  });

  it('the order of the changes makes no difference', () => {
    const config = aMachineConfig({ material: before });
    const turned = changes.toReversed();

    expect(renderStage(config, turned, 'Accepting', { talosVersion: 'v1.14.1' })).toBe(
      renderStage(config, changes, 'Accepting', { talosVersion: 'v1.14.1' }),
    );
    expect(drift(config, turned, 'Dropping')).toEqual(drift(config, changes, 'Dropping'));
  });

  it('a stage is only left forwards by rendering: each reads as itself', () => {
    const config = aMachineConfig({ material: before, shape: 'typed' });

    for (const one of changes) {
      expect(stageOf(config, one)).toBe('Before');
      const reached = STAGES.map((stage) =>
        stageOf(renderStage(config, [one], stage, { talosVersion: 'v1.14.1' }), one),
      );
      expect(reached).toEqual(['Accepting', 'Issuing', 'Dropping']);
    }
  });
});

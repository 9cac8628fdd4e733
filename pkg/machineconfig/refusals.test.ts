import { beforeAll, describe, expect, it } from 'vitest';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../test/builders/machine-config.ts';
import { type Change, drift, explainStage, readMachineConfig, renderStage } from './index.ts';

const TALOS = { talosVersion: 'v1.14.1', where: 'cp-1' };

describe('what is not rendered', () => {
  let before: ClusterMaterial;
  let after: ClusterMaterial;
  let other: ClusterMaterial;
  let changes: Change[];

  beforeAll(async () => {
    before = await someMaterial('key2');
    after = await someMaterial('key3');
    other = await someMaterial('key4');
    changes = changesBetween(before, after);
  });

  const talos = () => changes.filter(({ target }) => target === 'talos');

  function refusal(config: string, given: readonly Change[] = talos(), talosVersion = 'v1.14.1') {
    try {
      renderStage(config, given, 'Accepting', { ...TALOS, talosVersion });
    } catch (error) {
      const { kind, field, message } = error as { kind: string; field?: string; message: string };
      return { kind, field, message };
    }
    return undefined;
  }

  describe('combinations that crash or confuse Talos, by name', () => {
    it('the endpoint moved to KubeClusterConfig, the service-account key still old', () => {
      const config = `${aMachineConfig({ material: before }).replace(/ {4}controlPlane:\n.*\n {4}clusterName: seed\n/, '')}---\napiVersion: v1alpha1\nkind: KubeClusterConfig\nclusterName: seed\nendpoint: https://10.0.0.9:6443\n`;

      expect(refusal(config)).toEqual({
        kind: 'half-migrated',
        field: 'cluster.serviceAccount',
        message: expect.stringMatching(
          /^cp-1, line \d+, cluster\.serviceAccount: the old service-account key without cluster\.controlPlane\.endpoint beside it crashes machined of Talos 1\.14\.0; move the key to a KubeServiceAccountConfig document as well$/,
        ),
      });
    });

    it('KubeAPIServerConfig without its authentication and authorizers', () => {
      const config = `${aMachineConfig({ material: before, shape: 'typed' })}---\napiVersion: v1alpha1\nkind: KubeAPIServerConfig\nimage: x\n`;

      expect(readMachineConfig(config).problems.map(({ kind, message }) => `${kind}: ${message}`)).toEqual([
        'half-migrated: a KubeAPIServerConfig document without a KubeAuthenticationConfig document: kube-apiserver does not start; add it',
        'half-migrated: a KubeAPIServerConfig document without a KubeAuthorizerConfig document: kube-apiserver does not start; add it',
      ]);
      expect(refusal(config)?.kind).toBe('half-migrated');
    });

    it('a control plane without encryption', () => {
      const config = aMachineConfig({ material: before }).replace(/ {4}secretboxEncryptionSecret: .*\n/, '');

      expect(refusal(config)).toMatchObject({ kind: 'half-migrated', field: 'KubeEtcdEncryptionConfig' });
    });

    it('a control plane without the key of the Talos CA', () => {
      const config = aMachineConfig({ material: before }).replace(base64(before.talos.key.expose()), '""');

      expect(refusal(config)).toEqual({
        kind: 'missing-value',
        field: 'machine.ca',
        message: 'cp-1, line 1, machine.ca: a control plane needs the Talos CA with its key',
      });
    });

    it('a control plane whose typed Kubernetes CA has no issuingCA', () => {
      const worker = aMachineConfig({ material: before, shape: 'typed', role: 'worker' });
      const list = /kind: KubeAPIServerCAConfig\nacceptedCAs:[\s\S]*?(?=^---\n)/m;
      const config = aMachineConfig({ material: before, shape: 'typed' }).replace(
        /kind: KubeAPIServerCAConfig\n[\s\S]*?(?=^---\n)/m,
        list.exec(worker)?.[0] ?? '',
      );

      expect(refusal(config)).toMatchObject({ kind: 'half-migrated', field: 'KubeAPIServerCAConfig.issuingCA' });
    });

    it.each([
      ['ca', 'KubeAPIServerCAConfig'],
      ['aggregatorCA', 'KubeAggregatorCAConfig'],
      ['serviceAccount', 'KubeServiceAccountConfig'],
      ['secretboxEncryptionSecret', 'KubeEtcdEncryptionConfig'],
    ])('cluster.%s beside a %s document', (field, kind) => {
      const old = aMachineConfig({ material: before });
      const typed = aMachineConfig({ material: before, shape: 'typed' });
      const document = typed.split(/^---\n/m).find((each) => each.includes(`kind: ${kind}`)) ?? '';

      expect(refusal(`${old}---\n${document}`)).toMatchObject({ kind: 'two-homes', field: `cluster.${field}` });
    });
  });

  describe('workers', () => {
    const worker = () => aMachineConfig({ material: before, role: 'worker' });

    it('with the key of a CA', () => {
      const config = worker().replace('key: ""', `key: ${base64(before.talos.key.expose())}`);

      expect(refusal(config)).toMatchObject({
        kind: 'worker-holds-key',
        field: 'machine.ca',
        message: expect.stringContaining('a worker must not hold the key of a CA; keep the certificate only'),
      });
    });

    it('with a typed issuing CA', () => {
      const typed = aMachineConfig({ material: before, shape: 'typed' });
      const document = typed.split(/^---\n/m).find((each) => each.includes('kind: KubeAPIServerCAConfig')) ?? '';
      const config = aMachineConfig({ material: before, shape: 'typed', role: 'worker' }).replace(
        /apiVersion: v1alpha1\nkind: KubeAPIServerCAConfig\n[\s\S]*?(?=^---\n)/m,
        document,
      );

      expect(refusal(config)).toMatchObject({ kind: 'worker-holds-key', field: 'KubeAPIServerCAConfig.issuingCA' });
    });

    it('with documents and fields of control planes', () => {
      const typed = aMachineConfig({ material: before, shape: 'typed' });
      const document = typed.split(/^---\n/m).find((each) => each.includes('kind: KubeServiceAccountConfig')) ?? '';
      const config = `${worker()}---\n${document}`.replace('cluster:', 'cluster:\n    etcd: {ca: {}}');

      expect(readMachineConfig(config).problems.map(({ kind, field }) => `${kind} ${field}`)).toEqual([
        'worker-holds-key KubeServiceAccountConfig',
        'worker-holds-key cluster.etcd',
      ]);
      const { aggregator, etcd, encryption, serviceAccount } = readMachineConfig(config);
      expect({ aggregator, etcd, encryption, serviceAccount }).toEqual({});
    });

    it('that trust no Talos CA', () => {
      const config = worker().replace(/ {4}ca:\n {8}crt: \S+\n {8}key: ""\n/, '');

      expect(refusal(config)).toMatchObject({
        kind: 'trusts-nothing',
        message: expect.stringContaining(
          'the worker trusts no Talos CA (machine.ca.crt, machine.acceptedCAs), so it cannot get a certificate',
        ),
      });
    });
  });

  describe('versions', () => {
    it('typed documents on a Talos that does not know them', () => {
      expect(refusal(aMachineConfig({ material: before, shape: 'typed' }), talos(), 'v1.13.9')).toMatchObject({
        kind: 'needs-newer-talos',
        field: 'KubeAPIServerCAConfig',
        message: expect.stringContaining(
          'Talos v1.13.9 does not know this kind and would refuse the whole configuration',
        ),
      });
    });

    it.each(['v1.14.0', '1.14.1', 'v1.14', 'v1.15.0-alpha.1', 'v1.14.1+x', 'v2.0.0', 'v10.0.0'])(
      '%s knows them',
      (version) => {
        expect(refusal(aMachineConfig({ material: before, shape: 'typed' }), talos(), version)).toBeUndefined();
      },
    );

    it.each(['v1.13.9', '0.99', 'v1.9', 'v1.1.14'])('%s does not', (version) => {
      expect(refusal(aMachineConfig({ material: before, shape: 'typed' }), talos(), version)?.kind).toBe(
        'needs-newer-talos',
      );
    });

    it.each(['', 'latest', '1', 'v1', 'v1.x', 'Talos v1.14.1', 'v1.14rc', 'vv1.14'])(
      '"%s" is no version',
      (version) => {
        expect(refusal(aMachineConfig({ material: before }), talos(), version)).toEqual({
          kind: 'bad-change',
          field: undefined,
          message: `cp-1: "${version}" is no Talos version; expected one like v1.14.1`,
        });
      },
    );

    it('says what an old Talos has no way to do', () => {
      const config = aMachineConfig({ material: before });
      const cannot = 'Talos v1.13.9 cannot do this, upgrade it to 1.14 first';
      const refused = (field: string, why: string) => ({
        kind: 'needs-newer-talos',
        field,
        message: `cp-1, ${field}: ${why}; ${cannot}`,
      });

      expect(changes.map((change) => refusal(config, [change], 'v1.13.9'))).toEqual([
        undefined,
        undefined,
        undefined,
        refused('cluster.aggregatorCA', 'the aggregator CA has no list of accepted CAs before Talos 1.14'),
        refused(
          'cluster',
          'the old fields hold one encryption key a provider under a fixed name, so two cannot be read at a time',
        ),
        refused(
          'cluster.serviceAccount.key',
          'one service-account key signs and checks, so another one refuses every token at once',
        ),
      ]);
    });
  });

  describe('edits of somebody else', () => {
    it('material that is neither old nor new is Foreign, with what was found and expected', () => {
      const foreign = aMachineConfig({ material: other, shape: 'typed' });
      const id = (fingerprint: string | undefined) => `sha256:${fingerprint?.slice(0, 16)}`;

      const reasons = changes.map((change) => explainStage(foreign, change));

      expect(reasons.map(({ stage }) => stage)).toEqual(Array(6).fill('Foreign'));
      expect(reasons[0]?.reason).toBe(
        `machine.ca holds the CA ${id(other.talos.certificate.fingerprint)}; expected the old ${id(before.talos.certificate.fingerprint)} or the new ${id(after.talos.certificate.fingerprint)}`,
      );
      expect(reasons[4]?.reason).toBe(
        'no encryption rule holds the old secretbox key key2 or the new secretbox key key3',
      );
      for (const change of changes) {
        expect(refusal(foreign, [change])).toMatchObject({
          kind: 'foreign-edit',
          message: expect.stringMatching(`^cp-1: the ${change.target} material is not this rotation's: `),
        });
      }
    });

    it('a certificate with the key of another CA is Foreign', () => {
      const config = aMachineConfig({ material: before }).replace(
        base64(before.etcd.key.expose()),
        base64(other.etcd.key.expose()),
      );
      const [, , etcd] = changes;

      expect(etcd && explainStage(config, etcd).reason).toMatch(
        /^cluster\.etcd\.ca holds the key sha256:\w{16}; expected that of its first certificate/,
      );
    });

    it('one change twice is refused', () => {
      expect(refusal(aMachineConfig({ material: before }), [...talos(), ...talos()])).toEqual({
        kind: 'bad-change',
        field: undefined,
        message: 'cp-1: two changes of talos at once',
      });
    });
  });

  describe('drift', () => {
    it('names every field that differs, with fingerprints and without key bytes', () => {
      const config = aMachineConfig({ material: before, shape: 'typed' });

      const items = drift(config, changes, 'Issuing');

      const old = (ca: ClusterMaterial['talos']) => `old CA sha256:${ca.certificate.fingerprint.slice(0, 16)}`;
      const fresh = (ca: ClusterMaterial['talos']) => `new CA sha256:${ca.certificate.fingerprint.slice(0, 16)}`;
      expect(items.slice(0, 3)).toEqual([
        { target: 'talos', field: 'machine.ca', expected: fresh(after.talos), found: old(before.talos) },
        {
          target: 'talos',
          field: 'machine.ca.key',
          expected: `key sha256:${after.talos.certificate.publicKeyFingerprint.slice(0, 16)}`,
          found: `key sha256:${before.talos.certificate.publicKeyFingerprint.slice(0, 16)}`,
        },
        {
          target: 'talos',
          field: 'machine.acceptedCAs',
          expected: `${old(before.talos)} accepted`,
          found: 'an empty list',
        },
      ]);
      expect(items.map(({ target, field }) => `${target} ${field}`)).toEqual([
        'talos machine.ca',
        'talos machine.ca.key',
        'talos machine.acceptedCAs',
        'kubernetes KubeAPIServerCAConfig.issuingCA',
        'kubernetes KubeAPIServerCAConfig.issuingCA.key',
        'kubernetes KubeAPIServerCAConfig.acceptedCAs',
        'etcd cluster.etcd.ca.crt',
        'etcd cluster.etcd.ca.key',
        'kubernetes-aggregator KubeAggregatorCAConfig.issuingCA',
        'kubernetes-aggregator KubeAggregatorCAConfig.issuingCA.key',
        'kubernetes-aggregator KubeAggregatorCAConfig.acceptedCAs',
        'etcd-encryption KubeEtcdEncryptionConfig.config.resources[0]',
        'service-account KubeServiceAccountConfig.issuer.privateKey',
        'service-account KubeServiceAccountConfig.accepted.publicKeys',
      ]);
      const text = JSON.stringify(items);
      for (const secret of [before, after].flatMap((each) => [
        each.encryption.secret.expose(),
        each.talos.key.expose(),
      ])) {
        expect(text).not.toContain(secret.slice(0, 40));
      }
    });

    it('says that an old CA is still accepted where it must be gone', () => {
      const issuing = renderStage(aMachineConfig({ material: before }), talos(), 'Issuing', TALOS);

      expect(drift(issuing, talos(), 'Dropping')).toEqual([
        {
          target: 'talos',
          field: 'machine.acceptedCAs',
          expected: `old CA sha256:${before.talos.certificate.fingerprint.slice(0, 16)} gone`,
          found: `old CA sha256:${before.talos.certificate.fingerprint.slice(0, 16)}`,
        },
      ]);
    });

    it('a worker without a CA of its own: the order of its list', () => {
      const config = aMachineConfig({ material: before, shape: 'typed', role: 'worker' });
      const [, kubernetes] = changes;

      expect(kubernetes && drift(config, [kubernetes], 'Issuing')).toEqual([
        {
          target: 'kubernetes',
          field: 'KubeAPIServerCAConfig.acceptedCAs',
          expected: `new CA sha256:${after.kubernetes.certificate.fingerprint.slice(0, 16)}, then old CA sha256:${before.kubernetes.certificate.fingerprint.slice(0, 16)}`,
          found: `old CA sha256:${before.kubernetes.certificate.fingerprint.slice(0, 16)}`,
        },
      ]);
    });
  });

  it('the errors and the view never print a key', () => {
    const config = aMachineConfig({ material: before });
    const view = JSON.stringify(readMachineConfig(config));

    for (const key of [before.talos.key, before.etcd.key, before.serviceAccount.privateKey, before.encryption.secret]) {
      expect(view).not.toContain(key.expose().slice(-60, -40));
    }
  });
});

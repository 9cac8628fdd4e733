import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import {
  aMachineConfig,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../test/builders/machine-config.ts';
import { renderStage } from '../machineconfig/index.ts';
import { bundleFromParts, bundlePartsOf } from './index.ts';

/** A control plane's configuration whose cluster secret has its real length. */
function aConfig(options: Omit<Parameters<typeof aMachineConfig>[0], 'role'>): string {
  return aMachineConfig(options).replaceAll('c2VjcmV0', `${'QUFB'.repeat(10)}QUE=`);
}

describe('bundlePartsOf', () => {
  it.each(['legacy', 'mixed', 'typed'] as const)(
    'finds every secret in a configuration of the %s shape',
    async (shape) => {
      const material = await someMaterial();

      const parts = bundlePartsOf(aConfig({ shape, material }), 'cp1');

      const { bundle } = bundleFromParts(parts, { path: 'secrets.yaml' });
      const prints = (from: ClusterMaterial | typeof bundle) =>
        [from.talos, from.kubernetes, from.etcd, from.aggregator].map((ca) => ca.certificate.fingerprint);
      assert.deepEqual(prints(bundle), prints(material));
      assert.equal(bundle.serviceAccount.fingerprint, material.serviceAccount.fingerprint);
      assert.equal(bundle.secretboxEncryptionSecret?.equals(material.encryption.secret), true);
      assert.equal(bundle.trustdToken.expose(), 'abcdef.0123456789abcdef');
    },
  );

  it('refuses a worker', async () => {
    const config = aMachineConfig({ role: 'worker', material: await someMaterial() });

    assert.throws(() => bundlePartsOf(config, 'w1'), {
      kind: 'unsupported',
      message:
        'w1: machine.type: is not controlplane; only control planes hold the keys of the certificate authorities',
    });
  });

  it('refuses a control plane in the middle of a rotation of etcd', async () => {
    const [before, after] = [await someMaterial('key2'), await someMaterial('key3')];
    const changes = changesBetween(before, after).filter(({ target }) => target === 'etcd');
    const config = renderStage(aMachineConfig({ material: before }), changes, 'Accepting', { talosVersion: '1.14.1' });

    assert.throws(() => bundlePartsOf(config, 'cp1'), {
      kind: 'unsupported',
      message: 'cp1: cluster.etcd.ca: holds more than one certificate: the machine is in the middle of a rotation',
    });
  });

  it('names the line of what is not YAML, and quotes nothing of it', async () => {
    const config = aMachineConfig({ material: await someMaterial() });

    assert.throws(
      () => bundlePartsOf(`${config}\n  secret: "unclosed\n`, 'cp1'),
      (error: Error) => {
        assert.match(error.message, /^cp1:\d+: is not valid YAML$/);
        return true;
      },
    );
  });

  it('names the field that is missing', async () => {
    const config = aConfig({ material: await someMaterial() })
      .replaceAll('aggregatorCA', 'nothing')
      .replaceAll('KubeAggregatorCAConfig', 'Nothing');

    assert.throws(() => bundlePartsOf(config, 'cp1'), {
      kind: 'missing',
      message: 'cp1: cluster.aggregatorCA or KubeAggregatorCAConfig.issuingCA: is not there',
    });
  });
});

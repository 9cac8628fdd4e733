import { beforeAll, describe, expect, it } from 'vitest';
import {
  aMachineConfig,
  type ClusterMaterial,
  someMaterial,
  withEncryptionRules,
} from '../../../test/builders/machine-config.ts';
import { configRefusal, documentsOf, type Fields } from '../../../test/builders/read-config.ts';
import { createEncryptionKey, type EncryptionKey } from '../../pki/index.ts';
import { type Change, drift, explainStage, type RenderStage, renderStage, stageOf } from '../index.ts';

const TALOS = { talosVersion: 'v1.14.1', where: 'cp-1' };
const STAGES = ['Accepting', 'Issuing', 'Dropping'] as const;

let before: ClusterMaterial;
let after: ClusterMaterial;
let other: ClusterMaterial;

beforeAll(async () => {
  before = await someMaterial('key2');
  after = await someMaterial('key3');
  other = await someMaterial('key4');
});

describe('the key that encrypts objects in etcd', () => {
  const change = (): Change => ({ target: 'etcd-encryption', old: before.encryption, new: after.encryption });
  const entry = (...keys: EncryptionKey[]) => ({
    [keys[0]?.provider ?? 'secretbox']: { keys: keys.map(({ name, secret }) => ({ name, secret: secret.expose() })) },
  });
  const withRules = (...providers: object[][]) =>
    withEncryptionRules(
      aMachineConfig({ material: before, shape: 'typed' }),
      providers.map((each) => ({ resources: ['secrets'], providers: each })),
    );
  const named = (config: string): string[][] =>
    documentsOf(config).KubeEtcdEncryptionConfig.config.resources.map((rule: Fields) =>
      rule.providers.flatMap((provider: Fields) =>
        Object.entries(provider).flatMap(([name, body]) =>
          ((body as Fields).keys ?? [{ name: '' }]).map((each: { name: string }) => `${name} ${each.name}`.trim()),
        ),
      ),
    );
  const render = (config: string, stage: RenderStage, changes = [change()]) =>
    renderStage(config, changes, stage, TALOS);

  it('stands where every rule does, and is Foreign where they differ', () => {
    const [old, fresh] = [before.encryption, after.encryption];

    expect(stageOf(withRules([entry(old)], [entry(old)]), change())).toBe('Before');
    expect(stageOf(withRules([entry(old, fresh)]), change())).toBe('Accepting');
    expect(stageOf(withRules([entry(fresh, old)]), change())).toBe('Issuing');
    expect(stageOf(withRules([entry(fresh)], [{ identity: {} }]), change())).toBe('Dropping');
    expect(explainStage(withRules([entry(old)], [entry(old, fresh)]), change())).toEqual({
      stage: 'Foreign',
      reason:
        'the encryption rules stand at different stages: KubeEtcdEncryptionConfig.config.resources[0] at Before, KubeEtcdEncryptionConfig.config.resources[1] at Accepting',
    });
  });

  it.each(['old', 'new'] as const)('is Foreign where another secret bears the name of the %s key', (which) => {
    const { name } = which === 'old' ? before.encryption : after.encryption;
    const twin = createEncryptionKey('secretbox', name);

    expect(explainStage(withRules([entry(before.encryption), entry(twin)]), change())).toEqual({
      stage: 'Foreign',
      reason: `KubeEtcdEncryptionConfig.config.resources[0] holds another secret under the name of the secretbox key ${name}`,
    });
  });

  it('is another one under another provider, whatever its name', () => {
    const twin = createEncryptionKey('aescbc', after.encryption.name);

    expect(stageOf(withRules([entry(before.encryption), entry(twin)]), change())).toBe('Before');
  });

  it('keeps keys of others between, before and behind, in each stage and back', () => {
    const config = withRules([entry(other.encryption, before.encryption), { identity: {} }]);
    const writing = withRules([entry(before.encryption, other.encryption), { identity: {} }]);

    expect(STAGES.map((stage) => named(render(writing, stage))[0])).toEqual([
      ['secretbox key2', 'secretbox key3', 'secretbox key4', 'identity'],
      ['secretbox key3', 'secretbox key2', 'secretbox key4', 'identity'],
      ['secretbox key3', 'secretbox key4', 'identity'],
    ]);
    expect(named(render(render(writing, 'Dropping'), 'Accepting'))[0]).toEqual([
      'secretbox key2',
      'secretbox key3',
      'secretbox key4',
      'identity',
    ]);
    expect(configRefusal(() => render(config, 'Accepting'))).toEqual({
      kind: 'bad-change',
      field: 'KubeEtcdEncryptionConfig.config.resources[0]',
      message:
        'cp-1, KubeEtcdEncryptionConfig.config.resources[0]: the secretbox key key2 writes in no rule, it only reads; rotate the key that writes, and drop this one when no object names it',
    });
  });

  it('does not write behind identity either', () => {
    const config = withRules([{ identity: {} }, entry(before.encryption)]);

    expect(configRefusal(() => render(config, 'Accepting'))?.message).toContain(
      'the secretbox key key2 writes in no rule',
    );
  });

  it('goes from one provider to another and back, with what else the old one holds', () => {
    const older = createEncryptionKey('aescbc', 'key1');
    const reading = createEncryptionKey('aescbc', 'key0');
    const switching: Change[] = [{ target: 'etcd-encryption', old: older, new: after.encryption }];
    const config = withRules([entry(older, reading), { identity: {} }]);
    const passed = STAGES.map((stage) => render(config, stage, switching));

    expect(passed.map((text) => named(text)[0])).toEqual([
      ['aescbc key1', 'aescbc key0', 'secretbox key3', 'identity'],
      ['secretbox key3', 'aescbc key1', 'aescbc key0', 'identity'],
      ['secretbox key3', 'aescbc key0', 'identity'],
    ]);
    for (const [index, stage] of STAGES.entries()) {
      expect(render(passed[index] ?? '', stage, switching)).toBe(passed[index]);
    }
    const [accepting, issuing] = passed;
    expect(render(accepting ?? '', 'Issuing', switching)).toBe(issuing);
    expect(named(render(issuing ?? '', 'Accepting', switching))[0]).toEqual([
      'aescbc key1',
      'aescbc key0',
      'secretbox key3',
      'identity',
    ]);
  });

  it('comes back beside the new one, of another provider, when a rotation goes back', () => {
    const older = createEncryptionKey('aescbc', 'key1');
    const switching: Change[] = [{ target: 'etcd-encryption', old: older, new: after.encryption }];
    const dropped = withRules([entry(after.encryption), { identity: {} }]);

    expect(named(render(dropped, 'Issuing', switching))[0]).toEqual(['secretbox key3', 'aescbc key1', 'identity']);
    expect(named(render(dropped, 'Accepting', switching))[0]).toEqual(['aescbc key1', 'secretbox key3', 'identity']);
  });

  it('moves from the old fields with both keys of its provider, or with one of each of two', () => {
    const [accepting, issuing, dropping] = STAGES.map(
      (stage) => named(render(aMachineConfig({ material: before }), stage))[0],
    );
    const switched = createEncryptionKey('aesgcm', 'key9');
    const switching: Change[] = [{ target: 'etcd-encryption', old: before.encryption, new: switched }];

    expect(documentsOf(render(aMachineConfig({ material: before }), 'Accepting')).KubeEtcdEncryptionConfig).toEqual({
      apiVersion: 'v1alpha1',
      kind: 'KubeEtcdEncryptionConfig',
      config: {
        resources: [
          { resources: ['secrets'], providers: [entry(before.encryption, after.encryption), { identity: {} }] },
        ],
      },
    });
    expect(accepting).toEqual(['secretbox key2', 'secretbox key3', 'identity']);
    expect(issuing).toEqual(['secretbox key3', 'secretbox key2', 'identity']);
    expect(dropping).toEqual(['secretbox key3', 'identity']);
    expect(named(render(aMachineConfig({ material: before }), 'Issuing', switching))[0]).toEqual([
      'aesgcm key9',
      'secretbox key2',
      'identity',
    ]);
  });

  it('is Foreign, and drifts, where nothing is encrypted at all', () => {
    const config = aMachineConfig({ material: before }).replace(/ {4}secretboxEncryptionSecret: .*\n/, '');

    expect(explainStage(config, change())).toEqual({
      stage: 'Foreign',
      reason: 'no encryption rule holds the old secretbox key key2 or the new secretbox key key3',
    });
    expect(drift(config, [change()], 'Dropping')).toEqual([
      {
        target: 'etcd-encryption',
        field: 'KubeEtcdEncryptionConfig',
        expected: 'secretbox key key3',
        found: 'neither the old nor the new key',
      },
    ]);
  });

  it('does not concern workers', () => {
    const worker = aMachineConfig({ material: before, role: 'worker' });

    expect(explainStage(worker, change())).toEqual({ stage: 'NotConcerned' });
    expect(render(worker, 'Issuing')).toBe(worker);
    expect(drift(worker, [change()], 'Issuing')).toEqual([]);
  });

  it('is refused under the name of the old one, with its place', () => {
    const config = aMachineConfig({ material: before, shape: 'typed' });
    const same: Change[] = [{ target: 'etcd-encryption', old: before.encryption, new: before.encryption }];

    expect(configRefusal(() => render(config, 'Accepting', same))).toEqual({
      kind: 'bad-change',
      field: 'KubeEtcdEncryptionConfig.config.resources[0]',
      message:
        'cp-1, KubeEtcdEncryptionConfig.config.resources[0]: the new key has the provider and name of the old secretbox key key2; stored objects could not tell them apart',
    });
  });

  it('drifts by rule, with keys by name and never by their bytes', () => {
    const field = 'KubeEtcdEncryptionConfig.config.resources[0]';
    const items = (config: string, stage: RenderStage) =>
      drift(config, [change()], stage).map((item) => `${item.field}: ${item.found}; ${item.expected}`);
    const twin = createEncryptionKey('secretbox', after.encryption.name);

    expect(items(withRules([entry(before.encryption)]), 'Issuing')).toEqual([
      `${field}: secretbox key key2; secretbox key key3, then secretbox key key2`,
    ]);
    expect(items(withRules([entry(twin)]), 'Dropping')).toEqual([
      `${field}: secretbox key key3 with another secret; secretbox key key3`,
    ]);
    expect(items(withRules([{ identity: {} }]), 'Accepting')).toEqual([
      'KubeEtcdEncryptionConfig: neither the old nor the new key; secretbox key key2, then secretbox key key3',
    ]);
    expect(items(withRules([entry(after.encryption, other.encryption)]), 'Dropping')).toEqual([]);
    expect(items(aMachineConfig({ material: before }), 'Dropping')).toEqual([
      'cluster: secretbox key key2; secretbox key key3',
    ]);
  });
});

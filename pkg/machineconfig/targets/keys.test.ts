import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  someMaterial,
  withEncryptionRules,
} from '../../../test/builders/machine-config.ts';
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

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it names
type Fields = any;

/** The documents by kind, the old one as `old`. */
function documents(config: string): Record<string, Fields> {
  const all = parseAllDocuments(config, { intAsBigInt: true }).map((document) => document.toJS() as Fields);
  return Object.fromEntries(all.map((each) => [each.kind ?? 'old', each]));
}

const refusalOf = (render: () => unknown) => {
  try {
    render();
  } catch (error) {
    const { kind, field, message } = error as { kind: string; field?: string; message: string };
    return { kind, field, message };
  }
  return undefined;
};

describe('the service-account key', () => {
  const typed = () => aMachineConfig({ material: before, shape: 'typed' });
  const change = (): Change => ({ target: 'service-account', old: before.serviceAccount, new: after.serviceAccount });
  const print = (material: ClusterMaterial) => `sha256:${material.serviceAccount.fingerprint.slice(0, 16)}`;
  const render = (config: string, stage: RenderStage) => renderStage(config, [change()], stage, TALOS);

  it('is Foreign where it is neither of the two, in each shape, and where there is none', () => {
    const expected = `expected the old ${print(before)} or the new ${print(after)}`;

    expect(explainStage(aMachineConfig({ material: other, shape: 'typed' }), change())).toEqual({
      stage: 'Foreign',
      reason: `KubeServiceAccountConfig.issuer.privateKey holds the key ${print(other)}; ${expected}`,
    });
    expect(explainStage(aMachineConfig({ material: other }), change()).reason).toBe(
      `cluster.serviceAccount.key holds the key ${print(other)}; ${expected}`,
    );
    expect(
      explainStage(
        aMachineConfig({ material: before }).replace(base64(before.serviceAccount.privateKey.expose()), '""'),
        change(),
      ).reason,
    ).toBe('no service-account key is there');
  });

  it('does not concern workers', () => {
    const worker = aMachineConfig({ material: before, role: 'worker' });

    expect(explainStage(worker, change())).toEqual({ stage: 'NotConcerned' });
    expect(render(worker, 'Issuing')).toBe(worker);
    expect(drift(worker, [change()], 'Issuing')).toEqual([]);
  });

  it('stays in its old field in Dropping, where one key is all there is', () => {
    const dropped = documents(render(aMachineConfig({ material: before }), 'Dropping'));

    expect(dropped.old.cluster.serviceAccount).toEqual({ key: base64(after.serviceAccount.privateKey.expose()) });
    expect(dropped).not.toHaveProperty('KubeServiceAccountConfig');
  });

  it('moves to the document in Accepting with the old key, which still signs', () => {
    expect(documents(render(aMachineConfig({ material: before }), 'Accepting')).KubeServiceAccountConfig).toMatchObject(
      {
        issuer: { privateKey: before.serviceAccount.privateKey.expose() },
        accepted: { publicKeys: [after.serviceAccount.publicKey] },
      },
    );
  });

  it('keeps public keys that somebody else accepts', () => {
    const theirs = JSON.stringify(other.serviceAccount.publicKey);
    const config = `${typed().trimEnd()}\n`.replace(
      /(kind: KubeServiceAccountConfig\n)/,
      `$1accepted: {publicKeys: [${theirs}]}\n`,
    );
    const keys = (stage: RenderStage) => documents(render(config, stage)).KubeServiceAccountConfig.accepted.publicKeys;

    expect(keys('Accepting')).toEqual([other.serviceAccount.publicKey, after.serviceAccount.publicKey]);
    expect(keys('Issuing')).toEqual([other.serviceAccount.publicKey, before.serviceAccount.publicKey]);
    expect(keys('Dropping')).toEqual([other.serviceAccount.publicKey]);
  });

  it.each(['accepted:', 'accepted: {}', 'accepted: {publicKeys: []}'])('takes "%s" for an empty list', (written) => {
    const config = typed().replace(/(kind: KubeServiceAccountConfig\n)/, `$1${written}\n`);
    const keys = (stage: RenderStage) => documents(render(config, stage)).KubeServiceAccountConfig.accepted?.publicKeys;

    expect(keys('Accepting')).toEqual([after.serviceAccount.publicKey]);
    expect(keys('Issuing')).toEqual([before.serviceAccount.publicKey]);
    expect(keys('Dropping') ?? []).toEqual([]);
  });

  it('cannot move where no endpoint says who issues the tokens', () => {
    const config = aMachineConfig({ material: before }).replace(/ {4}controlPlane:\n.*\n/, '');

    expect(refusalOf(() => render(config, 'Accepting'))?.kind).toBe('half-migrated');
  });

  it('drifts by the key that signs and by the ones that are accepted', () => {
    const items = (config: string, stage: RenderStage) =>
      drift(config, [change()], stage).map(({ field, found, expected }) => `${field}: ${found}; ${expected}`);
    const key = 'KubeServiceAccountConfig.issuer.privateKey';
    const list = 'KubeServiceAccountConfig.accepted.publicKeys';
    const old = `old key ${print(before)}`;
    const fresh = `new key ${print(after)}`;

    expect(items(typed(), 'Issuing')).toEqual([`${key}: ${old}; ${fresh}`, `${list}: an empty list; ${old} accepted`]);
    expect(items(typed(), 'Accepting')).toEqual([`${list}: an empty list; ${fresh} accepted`]);
    expect(items(render(typed(), 'Issuing'), 'Dropping')).toEqual([`${list}: ${old}; ${old} gone`]);
    expect(items(aMachineConfig({ material: other }), 'Dropping')).toEqual([
      `cluster.serviceAccount.key: other key ${print(other)}; ${fresh}`,
    ]);
  });
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
    documents(config).KubeEtcdEncryptionConfig.config.resources.map((rule: Fields) =>
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
    expect(refusalOf(() => render(config, 'Accepting'))?.message).toContain(
      'the secretbox key key2 writes in no rule, it only reads',
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

    expect(accepting).toEqual(['secretbox key2', 'secretbox key3', 'identity']);
    expect(issuing).toEqual(['secretbox key3', 'secretbox key2', 'identity']);
    expect(dropping).toEqual(['secretbox key3', 'identity']);
    expect(named(render(aMachineConfig({ material: before }), 'Issuing', switching))[0]).toEqual([
      'aesgcm key9',
      'secretbox key2',
      'identity',
    ]);
  });

  it('is refused under the name of the old one, with its place', () => {
    const config = aMachineConfig({ material: before, shape: 'typed' });
    const same: Change[] = [{ target: 'etcd-encryption', old: before.encryption, new: before.encryption }];

    expect(refusalOf(() => render(config, 'Accepting', same))).toEqual({
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
    expect(items(withRules([entry(after.encryption)]), 'Dropping')).toEqual([]);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { aMachineConfig, base64, type ClusterMaterial, someMaterial } from '../../../test/builders/machine-config.ts';
import { configRefusal, documentsOf } from '../../../test/builders/read-config.ts';
import { type Change, drift, explainStage, type RenderStage, renderStage } from '../index.ts';

const TALOS = { talosVersion: 'v1.14.1', where: 'cp-1' };

let before: ClusterMaterial;
let after: ClusterMaterial;
let other: ClusterMaterial;

beforeAll(async () => {
  before = await someMaterial('key2');
  after = await someMaterial('key3');
  other = await someMaterial('key4');
});

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
      ),
    ).toEqual({ stage: 'Foreign', reason: 'no service-account key is there' });
  });

  it.each<[string, () => string]>([
    ['an issuer without a key', () => typed().replace(/ {4}privateKey: .*\n(?: {8}.*\n)+/, '')],
    ['a document without an issuer', () => typed().replace(/issuer:\n(?: .*\n)+/, '')],
    ['no field at all', () => aMachineConfig({ material: before }).replace(/ {4}serviceAccount:\n.*\n/, '')],
  ])('is Foreign and drifts where there is none: %s', (_what, bend) => {
    const config = bend();

    expect(explainStage(config, change())).toEqual({
      stage: 'Foreign',
      reason: 'no service-account key is there',
    });
    expect(drift(config, [change()], 'Accepting')).toEqual([
      {
        target: 'service-account',
        field: 'KubeServiceAccountConfig.issuer.privateKey',
        expected: `old key ${print(before)}`,
        found: 'no key',
      },
      {
        target: 'service-account',
        field: 'KubeServiceAccountConfig.accepted.publicKeys',
        expected: `new key ${print(after)} accepted`,
        found: 'an empty list',
      },
    ]);
  });

  it('does not concern workers', () => {
    const worker = aMachineConfig({ material: before, role: 'worker' });

    expect(explainStage(worker, change())).toEqual({ stage: 'NotConcerned' });
    expect(render(worker, 'Issuing')).toBe(worker);
    expect(drift(worker, [change()], 'Issuing')).toEqual([]);
  });

  it('stays in its old field in Dropping, where one key is all there is', () => {
    const dropped = documentsOf(render(aMachineConfig({ material: before }), 'Dropping'));

    expect(dropped.old.cluster.serviceAccount).toEqual({ key: base64(after.serviceAccount.privateKey.expose()) });
    expect(dropped).not.toHaveProperty('KubeServiceAccountConfig');
  });

  it('keeps the bytes of its old field where the new one is there', () => {
    const lines = base64(after.serviceAccount.privateKey.expose()).match(/.{1,76}/g) ?? [];
    const config = aMachineConfig({ material: before }).replace(
      `key: ${base64(before.serviceAccount.privateKey.expose())}`,
      `key: |\n${lines.map((line) => `            ${line}`).join('\n')}`,
    );

    expect(render(config, 'Dropping')).toBe(config);
  });

  it('that is accepted stands right behind the one that signs', () => {
    const document = /^(apiVersion: v1alpha1\nkind: KubeServiceAccountConfig\n)(issuer:\n(?: .*\n)+)/m;
    const config = typed().replace(document, '$2$1');
    expect(config).not.toBe(typed());

    const keys = [...render(config, 'Accepting').matchAll(/^(\w+):/gm)].map(([, key]) => key);

    expect(keys.slice(keys.indexOf('issuer'))).toEqual([
      ...['issuer', 'accepted', 'apiVersion', 'kind'],
      ...['apiVersion', 'kind', 'hostname'],
    ]);
  });

  it('that signs in Issuing is not listed besides, also where somebody listed it', () => {
    const publicKey = (material: ClusterMaterial) =>
      `        - |\n${material.serviceAccount.publicKey.trimEnd().replaceAll(/^/gm, '            ')}\n`;
    const config = aMachineConfig({ material: after, shape: 'typed' }).replace(
      /(kind: KubeServiceAccountConfig\nissuer:\n(?: .*\n)+)/,
      `$1accepted:\n    publicKeys:\n${publicKey(before)}${publicKey(after)}`,
    );

    expect(documentsOf(render(config, 'Issuing')).KubeServiceAccountConfig?.accepted).toEqual({
      publicKeys: [before.serviceAccount.publicKey],
    });
  });

  it('keeps its bytes in the document while it signs', () => {
    const config = typed().replace(/privateKey: \|.*\n/, 'privateKey: |-\n');

    expect(render(config, 'Accepting')).toContain('privateKey: |-\n');
  });

  it('is refused to move where the endpoint, which issues the tokens, is empty', () => {
    const config = aMachineConfig({ material: before }).replace(/endpoint: .*/, 'endpoint:');

    expect(configRefusal(() => render(config, 'Accepting'))).toEqual({
      kind: 'missing-value',
      field: 'cluster.controlPlane.endpoint',
      message:
        'cp-1, cluster.controlPlane.endpoint: the issuer of service-account tokens is the endpoint, and there is none',
    });
  });

  it.each<[string, () => string, string]>([
    [
      'issuer',
      () => typed().replace(/issuer:\n(?: .*\n)+/, 'issuer: x\n'),
      `KubeServiceAccountConfig.issuer: expected fields`,
    ],
    [
      'issuer.privateKey',
      () => typed().replace(/issuer:\n(?: .*\n)+/, 'issuer: {privateKey: []}\n'),
      'KubeServiceAccountConfig.issuer.privateKey: expected a single value',
    ],
    [
      'accepted',
      () => typed().replace(/(kind: KubeServiceAccountConfig\n)/, '$1accepted: x\n'),
      'KubeServiceAccountConfig.accepted: expected fields',
    ],
    [
      'accepted.publicKeys',
      () => typed().replace(/(kind: KubeServiceAccountConfig\n)/, '$1accepted: {publicKeys: x}\n'),
      'KubeServiceAccountConfig.accepted.publicKeys: expected a list',
    ],
    [
      'cluster.serviceAccount',
      () => aMachineConfig({ material: before }).replace(/serviceAccount:\n.*\n/, 'serviceAccount: x\n'),
      'cluster.serviceAccount: expected fields',
    ],
    [
      'cluster.serviceAccount.key',
      () => aMachineConfig({ material: before }).replace(/serviceAccount:\n.*\n/, 'serviceAccount: {key: []}\n'),
      'cluster.serviceAccount.key: expected a single value',
    ],
  ])('is refused by the name of its field: %s', (_field, config, message) => {
    expect(configRefusal(() => explainStage(config(), change(), 'cp-1'))?.message).toMatch(
      new RegExp(`^cp-1, line \\d+, ${message.replaceAll('.', '\\.')}$`),
    );
  });

  it('moves to the document in Accepting with the old key, which still signs', () => {
    expect(
      documentsOf(render(aMachineConfig({ material: before }), 'Accepting')).KubeServiceAccountConfig,
    ).toMatchObject({
      issuer: { privateKey: before.serviceAccount.privateKey.expose() },
      accepted: { publicKeys: [after.serviceAccount.publicKey] },
    });
  });

  it('keeps public keys that somebody else accepts', () => {
    const theirs = JSON.stringify(other.serviceAccount.publicKey);
    const config = `${typed().trimEnd()}\n`.replace(
      /(kind: KubeServiceAccountConfig\n)/,
      `$1accepted: {publicKeys: [${theirs}]}\n`,
    );
    const keys = (stage: RenderStage) =>
      documentsOf(render(config, stage)).KubeServiceAccountConfig.accepted.publicKeys;

    expect(keys('Accepting')).toEqual([other.serviceAccount.publicKey, after.serviceAccount.publicKey]);
    expect(keys('Issuing')).toEqual([other.serviceAccount.publicKey, before.serviceAccount.publicKey]);
    expect(keys('Dropping')).toEqual([other.serviceAccount.publicKey]);
  });

  it.each([
    ['accepted:', ''],
    ['accepted: {}', 'accepted: {}'],
    ['accepted: {publicKeys: []}', 'accepted: {}'],
    ['accepted:\n    publicKeys: []', 'accepted:\n    publicKeys: []'],
    ['accepted:\n    publicKeys:', ''],
    ['accepted:\n    later: x', 'accepted:\n    later: x'],
    ['accepted:\n    publicKeys:\n    later: x', 'accepted:\n    later: x'],
  ])('takes "%s" for an empty list, of which "%s" is left', (written, left) => {
    const configWith = (text: string, material: ClusterMaterial) =>
      aMachineConfig({ material: { ...before, serviceAccount: material.serviceAccount }, shape: 'typed' }).replace(
        /(kind: KubeServiceAccountConfig\n)/,
        text === '' ? '$1' : `$1${text}\n`,
      );
    const config = configWith(written, before);
    const keys = (stage: RenderStage) =>
      documentsOf(render(config, stage)).KubeServiceAccountConfig.accepted.publicKeys;
    const passed = render(render(render(config, 'Accepting'), 'Issuing'), 'Dropping');

    expect(keys('Accepting')).toEqual([after.serviceAccount.publicKey]);
    expect(keys('Issuing')).toEqual([before.serviceAccount.publicKey]);
    expect(render(config, 'Dropping')).toBe(configWith(left, after));
    expect(passed).toBe(configWith(left, after));
  });

  it('leaves nothing behind in a document in brackets', () => {
    const pem = (material: ClusterMaterial) => JSON.stringify(material.serviceAccount.privateKey.expose());
    const inBrackets = (material: ClusterMaterial) =>
      typed().replace(
        /apiVersion: v1alpha1\nkind: KubeServiceAccountConfig\n[\s\S]*?(?=^---\n)/m,
        `{apiVersion: v1alpha1, kind: KubeServiceAccountConfig, issuer: {privateKey: ${pem(material)}}}\n`,
      );
    const accepting = render(inBrackets(before), 'Accepting');

    expect(documentsOf(accepting).KubeServiceAccountConfig.accepted).toEqual({
      publicKeys: [after.serviceAccount.publicKey],
    });
    expect(render(render(accepting, 'Issuing'), 'Dropping')).toBe(inBrackets(after));
  });

  it('comes to the same list from every stage', () => {
    const [accepting, issuing] = [render(typed(), 'Accepting'), render(typed(), 'Issuing')];

    expect(render(accepting, 'Issuing')).toBe(issuing);
    expect(render(issuing, 'Accepting')).toBe(accepting);
  });

  it('stays in the list, where somebody put it, while it signs', () => {
    const listed = typed().replace(
      /(kind: KubeServiceAccountConfig\n)/,
      `$1accepted: {publicKeys: [${JSON.stringify(before.serviceAccount.publicKey)}]}\n`,
    );

    expect(documentsOf(render(listed, 'Accepting')).KubeServiceAccountConfig.accepted.publicKeys).toEqual([
      before.serviceAccount.publicKey,
      after.serviceAccount.publicKey,
    ]);
    expect(drift(listed, [change()], 'Accepting').map(({ found }) => found)).toEqual([`old key ${print(before)}`]);
    expect(drift(render(listed, 'Accepting'), [change()], 'Dropping').map(({ found }) => found)).toContain(
      `old key ${print(before)}, new key ${print(after)}`,
    );
  });

  it('cannot move where no endpoint says who issues the tokens', () => {
    const config = aMachineConfig({ material: before }).replace(/ {4}controlPlane:\n.*\n/, '');

    expect(configRefusal(() => render(config, 'Accepting'))?.kind).toBe('half-migrated');
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

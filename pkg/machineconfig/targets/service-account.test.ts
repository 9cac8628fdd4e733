import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { aMachineConfig, base64, type ClusterMaterial, someMaterial } from '../../../test/builders/machine-config.ts';
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

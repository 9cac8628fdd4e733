import { beforeAll, describe, expect, it } from 'vitest';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
  withEncryptionRules,
} from '../../test/builders/machine-config.ts';
import { aPlainWorker } from '../../test/builders/plain-worker.ts';
import { type Change, drift, openMachineConfig, readMachineConfig, renderStage, stageOf } from './index.ts';

const TALOS = { talosVersion: 'v1.14.1', where: 'cp-1' };

let before: ClusterMaterial;
let changes: Change[];

beforeAll(async () => {
  before = await someMaterial('key2');
  changes = changesBetween(before, await someMaterial('key3'));
});

function change(index: number): Change {
  const found = changes[index];
  if (found === undefined) throw new Error(`there is no change ${index}`);
  return found;
}

/** The message of the refusal to read a configuration. */
function refusal(config: string): string | undefined {
  try {
    readMachineConfig(config, 'cp-1');
  } catch (error) {
    return `${(error as { kind: string }).kind}: ${(error as Error).message.replace(/, line \d+/, '')}`;
  }
  return undefined;
}

describe('a control plane is not read', () => {
  const plain = () => aMachineConfig({ material: before });
  const typed = () => aMachineConfig({ material: before, shape: 'typed' });
  const withProvider = (provider: object) =>
    withEncryptionRules(typed(), [{ resources: ['secrets'], providers: [provider] }]);
  const secret = () => before.encryption.secret.expose();
  const provider = 'KubeEtcdEncryptionConfig.config.resources[0].providers[0]';

  it.each<[string, () => string, string]>([
    [
      'with a key and no certificate beside it',
      () => plain().replace(base64(before.talos.certificate.pem), '""'),
      'missing-value: cp-1, machine.ca.crt: a CA key without its certificate',
    ],
    [
      'with a hidden key',
      () => plain().replace(base64(before.talos.key.expose()), '"******"'),
      'bad-value: cp-1, machine.ca.key: the key is hidden (******); read the configuration as os:admin',
    ],
    [
      'with a certificate in the place of a key',
      () => plain().replace(base64(before.talos.key.expose()), base64(before.talos.certificate.pem)),
      'bad-value: cp-1, machine.ca.key: expected a private key (ED25519 PRIVATE KEY, EC PRIVATE KEY, RSA PRIVATE KEY, PRIVATE KEY), found CERTIFICATE',
    ],
    [
      'with a list of things that are no accepted CA',
      () => plain().replace('    certSANs', '    acceptedCAs: [{key: x}]\n    certSANs'),
      'missing-value: cp-1, machine.acceptedCAs[0]: an accepted CA without crt',
    ],
    [
      'with text where a list belongs',
      () => plain().replace('    certSANs', '    acceptedCAs: x\n    certSANs'),
      'bad-value: cp-1, machine.acceptedCAs: expected a list',
    ],
    [
      'with fields where text belongs',
      () => plain().replace(/ {4}type: .*/, '    type: {a: b}'),
      'bad-value: cp-1, machine.type: expected a single value',
    ],
    [
      'without a role',
      () => plain().replace(/ {4}type: .*\n/, ''),
      'not-a-machine-configuration: cp-1, machine.type: expected controlplane or worker, found nothing',
    ],
    [
      'with a role that Talos does not have',
      () => plain().replace(/ {4}type: .*/, '    type: boss'),
      'not-a-machine-configuration: cp-1, machine.type: expected controlplane or worker, found "boss"',
    ],
    [
      'with an old encryption key that is none',
      () => plain().replace(secret(), 'AAAA'),
      'bad-value: cp-1, cluster.secretboxEncryptionSecret: secretbox key key2: expected 32 bytes, found 3',
    ],
    [
      'with a quote that stays open',
      () => `${plain()}x: "y\n`,
      'not-yaml: cp-1: the quote that begins here never ends',
    ],
    [
      'without machine fields',
      () => 'version: v1alpha1\nmachine:\n',
      'not-a-machine-configuration: cp-1, machine: the v1alpha1 document has no machine fields',
    ],
    [
      'with two providers in one item',
      () => withProvider({ identity: {}, kms: {} }),
      `bad-value: cp-1, ${provider}: expected exactly one provider, found identity, kms`,
    ],
    ['with none', () => withProvider({}), `bad-value: cp-1, ${provider}: expected exactly one provider, found none`],
    [
      'with a provider without keys',
      () => withProvider({ secretbox: { keys: [] } }),
      `missing-value: cp-1, ${provider}: the secretbox provider has no keys; kube-apiserver would not start`,
    ],
    [
      'with a key without a name',
      () => withProvider({ secretbox: { keys: [{ secret: secret() }] } }),
      `missing-value: cp-1, ${provider}.secretbox.keys[0]: an encryption key without name`,
    ],
    [
      'with a key without a secret',
      () => withProvider({ secretbox: { keys: [{ name: 'key2', secret: null }] } }),
      `missing-value: cp-1, ${provider}.secretbox.keys[0]: an encryption key without secret`,
    ],
    [
      'with a key that is too short',
      () => withProvider({ secretbox: { keys: [{ name: 'key2', secret: 'AAAA' }] } }),
      `bad-value: cp-1, ${provider}.secretbox.keys[0].secret: secretbox key key2: expected 32 bytes, found 3`,
    ],
    [
      'with a list for a document',
      () => `${plain()}---\n- a\n`,
      'not-a-machine-configuration: cp-1: expected a document of fields, found a list or a single value',
    ],
    [
      'with a merge where the CA would be',
      () => plain().replace('cluster:\n', 'cluster:\n    <<: {}\n'),
      'indirect-value: cp-1, cluster.<<: a merge key can bring in certificates and keys from elsewhere; write the fields out',
    ],
    [
      'with brackets in brackets without end',
      () => `${plain()}x: ${'['.repeat(200)}${']'.repeat(200)}\n`,
      'nesting: cp-1: is nested more than 100 levels deep',
    ],
  ])('%s', (_what, config, message) => {
    expect(refusal(config())).toBe(message);
  });

  it('that is larger than Talos takes', () => {
    expect(refusal(`${plain()}#${'x'.repeat(16 * 1024 * 1024)}`)).toMatch(
      /^too-large: cp-1: has 1\d{7} characters, the limit is 1\d{7}$/,
    );
  });

  it('but with two documents of one kind and two names', () => {
    const volume = (name: string) => `---\napiVersion: v1alpha1\nkind: UserVolumeConfig\nname: ${name}\n`;

    expect(refusal(plain() + volume('a') + volume('b'))).toBeUndefined();
    expect(refusal(plain() + volume('a') + volume('a'))).toMatch(
      /^duplicate-document: cp-1: a second UserVolumeConfig a document; the first is at line \d+$/,
    );
  });
});

describe('a control plane is read', () => {
  const same = (bend: (config: string) => string) => {
    const config = aMachineConfig({ material: before });
    const bent = bend(config);

    expect(bent).not.toBe(config);
    expect(readMachineConfig(bent).talos).toEqual(readMachineConfig(config).talos);
  };

  it.each<[string, (config: string) => string]>([
    [
      'with keys in quotes',
      (config) => config.replace('machine:\n', "'machine':\n").replace('    ca:\n', '    "ca":\n'),
    ],
    ['with a directive before it', (config) => `%YAML 1.2\n---\n${config}`],
    ['with a tag that says what it is anyway', (config) => config.replace('        crt: ', '        crt: !!str ')],
    ['with an empty document beside it', (config) => `${config}---\n---\n# nothing\n`],
  ])('%s', (_what, bend) => {
    same(bend);
  });
});

describe('a machine without cluster fields', () => {
  const bare = () => `machine:\n  type: worker\n  ca:\n    crt: ${base64(before.talos.certificate.pem)}\n`;

  it('trusts no Kubernetes CA, which is said', () => {
    expect(readMachineConfig(bare()).kubernetes).toEqual({
      shape: 'legacy',
      issuing: undefined,
      besideIssuing: [],
      hasKey: false,
      keyFingerprint: undefined,
      accepted: [],
    });
    expect(stageOf(bare(), change(1))).toBe('Foreign');
    expect(drift(bare(), [change(1)], 'Dropping').map(({ field, found }) => `${field}: ${found}`)).toEqual([
      'cluster.ca: neither the old nor the new CA',
    ]);
  });

  it('is rendered for the Talos CA', () => {
    expect(stageOf(renderStage(bare(), [change(0)], 'Accepting', TALOS), change(0))).toBe('Accepting');
  });
});

describe('an open configuration', () => {
  it('says and renders what the functions for one time do', () => {
    const config = aMachineConfig({ material: before });
    const open = openMachineConfig(config, 'cp-1');

    expect(open.text).toBe(config);
    expect(open.view()).toEqual(readMachineConfig(config));
    expect(open.standing(change(0))).toEqual({ stage: 'Before' });
    expect(open.drift(changes, 'Issuing')).toEqual(drift(config, changes, 'Issuing'));
    expect(open.render([change(0)], 'Issuing', TALOS)).toBe(renderStage(config, [change(0)], 'Issuing', TALOS));
  });
});

describe('aliases', () => {
  const withFields = (...lines: string[]) => aPlainWorker(before, lines);
  const words = (count: number) => Array.from({ length: count }, () => 'x').join(',');

  it.each<[string, () => string[]]>([
    ['of a few words', () => [`  a: &a [${words(10)}]`, '  b: [*a, *a]']],
    ['of a word outside of what bears the name', () => ['  a: &a x', `  b: [${words(1000)}]`, '  c: [*a, *a]']],
    ['in fields, of fields that are over', () => ['  a: &a', '    b: 1', '  c: *a', '  d: *a']],
    ['of a name that is not there', () => ['  a: [*b, *b]']],
  ])('%s may stand', (_what, lines) => {
    expect(() => renderStage(withFields(...lines()), [change(0)], 'Accepting', TALOS)).not.toThrow(/aliases/);
  });

  it.each<[string, () => string[]]>([
    [
      'by names of names',
      () => [`  a: &a [${words(500)}]`, `  b: &b [${'*a,'.repeat(30)}]`, `  c: [${'*b,'.repeat(20)}]`],
    ],
    ['of what they stand in', () => [`  a: &a [${words(500)},${'*a,'.repeat(30)}]`]],
    [
      'in blocks',
      () => [
        '  a: &a',
        ...Array.from({ length: 500 }, () => '    - x'),
        '  b:',
        ...Array.from({ length: 500 }, () => '    - *a'),
      ],
    ],
  ])('that stand for more than 200000 words are refused: %s', (_what, lines) => {
    expect(() => renderStage(withFields(...lines()), [change(0)], 'Accepting', TALOS)).toThrow(
      expect.objectContaining({
        kind: 'aliases',
        message: expect.stringContaining(
          'its aliases stand for more than 200000 words; Talos refuses such a document too',
        ),
      }),
    );
  });
});

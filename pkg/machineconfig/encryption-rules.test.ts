import { beforeAll, describe, expect, it } from 'vitest';
import {
  aMachineConfig,
  type ClusterMaterial,
  someMaterial,
  withEncryptionRules,
} from '../../test/builders/machine-config.ts';
import { readMachineConfig } from './index.ts';

let material: ClusterMaterial;

beforeAll(async () => {
  material = await someMaterial('key2');
});

function refusal(config: string): string | undefined {
  try {
    readMachineConfig(config, 'cp-1');
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

describe('encryption rules', () => {
  it('are read that say nothing of resources and providers', () => {
    const config = withEncryptionRules(aMachineConfig({ material: material, shape: 'typed' }), [{}]);

    expect(readMachineConfig(config).encryption).toEqual({
      shape: 'typed',
      rules: [{ resources: [], providers: [] }],
    });
  });

  it.each<[string, unknown, string]>([
    ['text for a rule', ['x'], 'resources[0]: expected fields'],
    ['text for the resources', [{ resources: 'secrets' }], 'resources[0].resources: expected a list'],
    ['a list for a resource', [{ resources: [[]] }], 'resources[0].resources[0]: expected a single value'],
    ['text for the providers', [{ providers: 'x' }], 'resources[0].providers: expected a list'],
    ['text for a provider', [{ providers: ['x'] }], 'resources[0].providers[0]: expected fields'],
    ['text in a provider', [{ providers: [{ aesgcm: 'x' }] }], 'resources[0].providers[0].aesgcm: expected fields'],
    [
      'text for keys',
      [{ providers: [{ aescbc: { keys: 'x' } }] }],
      'resources[0].providers[0].aescbc.keys: expected a list',
    ],
    [
      'text for a key',
      [{ providers: [{ aescbc: { keys: ['x'] } }] }],
      'resources[0].providers[0].aescbc.keys[0]: expected fields',
    ],
    [
      'a list for a name',
      [{ providers: [{ aescbc: { keys: [{ name: [] }] } }] }],
      'resources[0].providers[0].aescbc.keys[0].name: expected a single value',
    ],
    [
      'a provider without keys',
      [{ providers: [{ aescbc: null }] }],
      'resources[0].providers[0]: the aescbc provider has no keys; kube-apiserver would not start',
    ],
    [
      'a key without a name',
      [{ providers: [{ aescbc: { keys: [{}] } }] }],
      'resources[0].providers[0].aescbc.keys[0]: an encryption key without name',
    ],
    ['text for the rules', 'x', 'resources: expected a list'],
  ])('are refused with their line and field: %s', (_what, rules, message) => {
    const config = withEncryptionRules(aMachineConfig({ material: material, shape: 'typed' }), rules as object[]);
    const line = config.slice(0, config.indexOf('config: {')).split('\n').length;

    expect(refusal(config)).toBe(`cp-1, line ${line}, KubeEtcdEncryptionConfig.config.${message}`);
  });

  it('are refused with their line and field where they are no fields', () => {
    const config = `${aMachineConfig({ material: material })}---\nkind: KubeEtcdEncryptionConfig\nconfig: x\n`;
    const line = config.split('\n').length - 1;

    expect(refusal(config)).toBe(`cp-1, line ${line}, KubeEtcdEncryptionConfig.config: expected fields`);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { aMachineConfig, type ClusterMaterial, someMaterial } from '../../test/builders/machine-config.ts';
import { readMachineConfig } from './index.ts';

let material: ClusterMaterial;

beforeAll(async () => {
  material = await someMaterial('key2');
});

const plain = () => aMachineConfig({ material });

describe('what a machine is', () => {
  it.each([
    ['controlplane', 'controlplane'],
    ['init', 'controlplane'],
    ['worker', 'worker'],
    ['join', 'worker'],
  ] as const)('by the type %s is %s', (type, role) => {
    const config = aMachineConfig({ material, role }).replace(`type: ${role}`, `type: ${type}`);

    expect(readMachineConfig(config).role).toBe(role);
  });

  it.each<[string, string | RegExp, string, string]>([
    [
      'another type',
      / {4}type: controlplane\n([\s\S]*?)(?=^cluster:\n)/m,
      '$1    type: router\n',
      'cp-1, line 14, machine.type: expected controlplane or worker, found "router"',
    ],
    [
      'no type',
      '    type: controlplane\n',
      '',
      'cp-1, line 6, machine.type: expected controlplane or worker, found nothing',
    ],
    ['machine as a word', /^machine:\n(?: .*\n)+/m, 'machine: hello\n', 'machine: expected fields'],
    ['cluster as a word', /^cluster:\n(?: .*\n)+/m, 'cluster: hello\n', 'cluster: expected fields'],
    [
      'cluster.controlPlane as a word',
      /^ {4}controlPlane:\n.*\n/m,
      '    controlPlane: hello\n',
      'cluster.controlPlane: expected fields',
    ],
  ])('is refused with %s, by place', (_what, from, to, message) => {
    const config = plain().replace(from, to);
    expect(config).not.toBe(plain());

    expect(() => readMachineConfig(config, 'cp-1')).toThrow(
      expect.objectContaining({ message: expect.stringContaining(message) }),
    );
  });
});

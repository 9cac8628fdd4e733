import { beforeAll, describe, expect, it } from 'vitest';
import { aMachineConfig, type ClusterMaterial, someMaterial } from '../../test/builders/machine-config.ts';
import { readApiServerPort, readMachineConfig } from './index.ts';

let material: ClusterMaterial;

beforeAll(async () => {
  material = await someMaterial('key2');
});

const ENDPOINT = '        endpoint: https://10.0.0.9:6443\n';

/** A control plane in the old shape, with this behind the endpoint. */
const legacy = (line = '') => aMachineConfig({ material }).replace(ENDPOINT, `${ENDPOINT}${line}`);

/** A control plane in the typed shape, with a document that has this. */
const typed = (line: string) =>
  `${aMachineConfig({ material, shape: 'typed' })}---\napiVersion: v1alpha1\nkind: KubeAPIServerConfig\n${line}`;

describe('the port of kube-apiserver', () => {
  it.each<[string, () => string, number]>([
    ['6443 where the old shape names none', () => legacy(), 6443],
    ['the one that the old shape names', () => legacy('        localAPIServerPort: 7443 # behind a proxy\n'), 7443],
    ['6443 where the old shape has 0: not set', () => legacy('        localAPIServerPort: 0\n'), 6443],
    ['6443 where nothing stands behind the colon', () => legacy('        localAPIServerPort:\n'), 6443],
    ['6443 without cluster.controlPlane', () => legacy().replace(`    controlPlane:\n${ENDPOINT}`, ''), 6443],
    ['6443 in the typed shape without the document', () => aMachineConfig({ material, shape: 'typed' }), 6443],
    ['6443 where the document names none', () => typed('image: example.org/kube-apiserver:v1.36.3\n'), 6443],
    ['the one that the document names', () => typed('apiPort: 8443\n'), 8443],
    ['the lowest one', () => typed('apiPort: 1\n'), 1],
    ['the highest one', () => legacy('        localAPIServerPort: 65535\n'), 65_535],
    [
      'the one of the document beside the old field, as Talos looks it up',
      () => `${legacy('        localAPIServerPort: 7443\n')}---\napiVersion: v1alpha1\nkind: KubeAPIServerConfig\n`,
      6443,
    ],
  ])('is %s', (_what, config, port) => {
    expect(readApiServerPort(config())).toBe(port);
    expect(readMachineConfig(config()).apiServerPort).toBe(port);
  });

  it('is found in a configuration that is broken elsewhere', () => {
    const broken = legacy('        localAPIServerPort: 7443\n').replace(/crt: .*/, 'crt: bm90IGEgY2VydGlmaWNhdGU=');

    expect(() => readMachineConfig(broken)).toThrow('machine.ca.crt');
    expect(readApiServerPort(broken)).toBe(7443);
  });

  it.each(['-1', '65536', '123456', '7443.0', '0x1D13', '07443', '7_443', '+7443', 'https', '"7443"'])(
    'is an error, with its place, where %s is written',
    (text) => {
      const found = text === '"7443"' ? 'text, which Talos takes for no number' : text;
      const message = `expected a port, 1 to 65535 in plain digits, found ${found}`;

      const old = legacy(`        localAPIServerPort: ${text}\n`);
      const place = `cp1, line ${lineOf(old, 'localAPIServerPort')}, cluster.controlPlane.localAPIServerPort`;
      expect(() => readApiServerPort(old, 'cp1')).toThrow(
        expect.objectContaining({ kind: 'bad-value', message: `${place}: ${message}` }),
      );
      expect(() => readMachineConfig(old, 'cp1')).toThrow(`${place}: ${message}`);

      const document = typed(`apiPort: ${text}\n`);
      expect(() => readApiServerPort(document, 'cp1')).toThrow(
        `cp1, line ${lineOf(document, 'apiPort')}, KubeAPIServerConfig.apiPort: ${message}`,
      );
    },
  );

  it('is an error where the document has 0: Talos takes it as it is there', () => {
    expect(() => readApiServerPort(typed('apiPort: 0\n'))).toThrow('KubeAPIServerConfig.apiPort: expected a port');
  });

  it('is none of a worker, whatever its configuration says', () => {
    const worker = aMachineConfig({ material, role: 'worker' });
    const other = worker.replace(ENDPOINT, `${ENDPOINT}        localAPIServerPort: nonsense\n`);
    expect(other).not.toBe(worker);

    expect(readMachineConfig(other).apiServerPort).toBeUndefined();
  });
});

function lineOf(config: string, field: string): number {
  return config.slice(0, config.indexOf(field)).split('\n').length;
}

import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../test/builders/machine-config.ts';
import { type Change, readMachineConfig, renderStage, type Target } from './index.ts';

const TALOS = { talosVersion: 'v1.14.1', where: 'cp-1' };

let before: ClusterMaterial;
let after: ClusterMaterial;
let other: ClusterMaterial;
let changes: readonly Change[];

beforeAll(async () => {
  before = await someMaterial('key2');
  after = await someMaterial('key3');
  other = await someMaterial('key4');
  changes = changesBetween(before, after);
});

const change = (target: Target) => changes.filter((each) => each.target === target);
const plain = () => aMachineConfig({ material: before });
const typed = () => aMachineConfig({ material: before, shape: 'typed' });

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it names
const legacyOf = (config: string): any => parse(config.split('\n---\n')[0] ?? '', { intAsBigInt: true });

/** Base64 over several lines, as people paste it. */
function wrapped(text: string, indent: number): string {
  const lines = base64(text).match(/.{1,76}/g) ?? [];
  return lines.map((line) => `${' '.repeat(indent)}${line}\n`).join('');
}

describe('a CA where it lives', () => {
  it('keeps every byte of an accepted CA that stays, however it is written', () => {
    const entry = `        - crt: |\n${wrapped(other.talos.certificate.pem, 14)}`;
    const config = plain().replace('    # not ours', `    acceptedCAs:\n${entry}    # not ours`);
    expect(readMachineConfig(config).talos.accepted.map(({ pem }) => pem)).toEqual([other.talos.certificate.pem]);

    for (const stage of ['Accepting', 'Issuing', 'Dropping'] as const) {
      expect(renderStage(config, change('talos'), stage, TALOS)).toContain(entry);
    }
  });

  it.each(['talos', 'kubernetes', 'etcd', 'aggregator'] as const)(
    'keeps every byte of the %s CA where it is the one that signs, however it is written',
    (name) => {
      const { certificate, key } = after[name];
      const [crtLines, keyLines] = [wrapped(certificate.pem, 20), wrapped(key.expose(), 20)];
      const config = aMachineConfig({ material: after })
        .replace(`crt: ${base64(certificate.pem)}\n`, `crt: |\n${crtLines}`)
        .replace(`key: ${base64(key.expose())}\n`, `key: |\n${keyLines}`);
      expect(config.split('|\n')).toHaveLength(3);

      const target = name === 'aggregator' ? 'kubernetes-aggregator' : name;
      expect(renderStage(config, change(target), 'Dropping', TALOS)).toBe(config);
    },
  );

  it('keeps every byte of the key of etcd while its CA still signs', () => {
    const lines = wrapped(before.etcd.key.expose(), 20);
    const config = plain().replace(`key: ${base64(before.etcd.key.expose())}\n`, `key: |\n${lines}`);

    expect(renderStage(config, change('etcd'), 'Accepting', TALOS)).toContain(`key: |\n${lines}`);
  });

  it.each(['talos', 'kubernetes', 'etcd'] as const)(
    'gets the last newline that the %s CA lacks where it stays',
    (target) => {
      const { pem } = after[target].certificate;
      const config = aMachineConfig({ material: after }).replace(base64(pem), base64(pem.trimEnd()));
      const { machine, cluster } = legacyOf(renderStage(config, change(target), 'Dropping', TALOS));

      expect({ talos: machine.ca, kubernetes: cluster.ca, etcd: cluster.etcd.ca }[target].crt).toBe(base64(pem));
    },
  );

  it('gets the last newline that an aggregator CA without a list lacks', () => {
    const { pem } = after.aggregator.certificate;
    const config = aMachineConfig({ material: after }).replace(base64(pem), base64(pem.trimEnd()));
    const rendered = renderStage(config, change('kubernetes-aggregator'), 'Dropping', TALOS);

    expect(legacyOf(rendered).cluster.aggregatorCA.crt).toBe(base64(pem));
  });

  it('is none where its fields are empty or not there', () => {
    const crt = `            crt: ${base64(before.talos.certificate.pem)}\n`;
    const key = `            key: ${base64(before.talos.key.expose())}\n`;
    const nothing = { issuing: undefined, hasKey: false, keyFingerprint: undefined, accepted: [], shape: 'legacy' };
    const written = plain().replace(crt.slice(4), '').replace(key.slice(4), '');

    expect(readMachineConfig(written.replace('    ca:\n    # not ours', '    ca: {}\n')).talos).toEqual(nothing);
    expect(readMachineConfig(written).talos).toEqual(nothing);
  });

  it('is refused with a key and no certificate field', () => {
    const config = plain().replace(`        crt: ${base64(before.talos.certificate.pem)}\n`, '');

    expect(() => readMachineConfig(config, 'cp-1')).toThrow(
      expect.objectContaining({ kind: 'missing-value', field: 'machine.ca.crt' }),
    );
  });

  it.each<[string, () => string, string]>([
    [
      'machine.ca.key',
      () => plain().replace(base64(before.talos.key.expose()), '[]'),
      'machine.ca.key: expected a single value',
    ],
    [
      'cluster.etcd',
      () => plain().replace(/ {4}etcd:\n[\s\S]*?(?=\n---)/, '    etcd: x'),
      'cluster.etcd: expected fields',
    ],
    [
      'cluster.etcd.ca.crt',
      () => plain().replace(base64(before.etcd.certificate.pem), '[]'),
      'cluster.etcd.ca.crt: expected a single value',
    ],
    [
      'cluster.aggregatorCA.crt',
      () => plain().replace(base64(before.aggregator.certificate.pem), '[]'),
      'cluster.aggregatorCA.crt: expected a single value',
    ],
    [
      'KubeAPIServerCAConfig.issuingCA.cert',
      () =>
        typed().replace(
          /(kind: KubeAPIServerCAConfig\n.*\nissuingCA:\n) {4}cert: .*\n(?: {8}.*\n)+/,
          '$1    cert: []\n',
        ),
      'KubeAPIServerCAConfig.issuingCA.cert: expected a single value',
    ],
  ])('is refused by the name of its field: %s', (_field, config, message) => {
    expect(() => readMachineConfig(config(), 'cp-1')).toThrow(message);
  });
});

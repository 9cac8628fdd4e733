import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../test/builders/machine-config.ts';
import { type Change, readMachineConfig, renderStage, stageOf, type Target } from './index.ts';

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

  it('is gone from an entry that holds another one before it, which stays', () => {
    const [stays, goes] = [other.talos.certificate.pem, before.talos.certificate.pem];
    const config = aMachineConfig({ material: after }).replace(
      '    # not ours',
      `    acceptedCAs:\n        - crt: ${base64(stays + goes)}\n    # not ours`,
    );
    expect(stageOf(config, { target: 'talos', old: before.talos, new: after.talos })).toBe('Issuing');

    expect(legacyOf(renderStage(config, change('talos'), 'Dropping', TALOS)).machine.acceptedCAs).toEqual([
      { crt: base64(stays) },
    ]);
  });

  it.each([
    ['talos', 'Issuing'],
    ['kubernetes', 'Issuing'],
  ] as const)('of %s that signs in %s is not listed besides, also where somebody listed it', (target, stage) => {
    const pems = [before, after].map((each) => each[target].certificate.pem);
    const list = pems.map((pem) => `        - crt: ${base64(pem)}\n`).join('');
    const config = aMachineConfig({ material: after }).replace(
      target === 'talos' ? '    # not ours' : /(?=^ {4}ca:$(?![\s\S]*^ {4}ca:$))/m,
      target === 'talos' ? `    acceptedCAs:\n${list}    # not ours` : `    acceptedCAs:\n${list}`,
    );
    const { machine, cluster } = legacyOf(renderStage(config, change(target), stage, TALOS));

    expect((target === 'talos' ? machine : cluster).acceptedCAs).toEqual([{ crt: base64(pems[0] ?? '') }]);
  });

  it.each<[string, string, string]>([
    ['no crt', '- key: x', 'cp-1, line 0, machine.acceptedCAs[0]: an accepted CA without crt'],
    ['a crt that is no text', '- crt: []', 'cp-1, line 0, machine.acceptedCAs[0].crt: expected a single value'],
    ['a crt that is no base64', '- crt: "!"', 'cp-1, line 0, machine.acceptedCAs[0].crt: '],
  ])('is refused in a list by place and line with %s', (_what, item, message) => {
    const config = plain().replace('    # not ours', `    acceptedCAs:\n        ${item}\n    # not ours`);
    const line = config.split('\n').findIndex((each) => each.includes(item)) + 1;

    expect(() => readMachineConfig(config, 'cp-1')).toThrow(message.replace('line 0', `line ${line}`));
  });

  it('is none where its fields are empty or not there', () => {
    const crt = `            crt: ${base64(before.talos.certificate.pem)}\n`;
    const key = `            key: ${base64(before.talos.key.expose())}\n`;
    const without = { issuing: undefined, besideIssuing: [], hasKey: false, keyFingerprint: undefined };
    const nothing = { ...without, accepted: [], shape: 'legacy' };
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

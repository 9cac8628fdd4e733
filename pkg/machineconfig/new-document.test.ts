import { beforeAll, describe, expect, it } from 'vitest';
import {
  aMachineConfig,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../test/builders/machine-config.ts';
import { aPlainWorker } from '../../test/builders/plain-worker.ts';
import { type Change, renderStage, stageOf, type Target } from './index.ts';

const TALOS = { talosVersion: 'v1.14.1' };

let before: ClusterMaterial;
let changes: readonly Change[];

beforeAll(async () => {
  before = await someMaterial('key2');
  changes = changesBetween(before, await someMaterial('key3'));
});

const change = (target: Target) => changes.filter((each) => each.target === target);
const accepting = (config: string, target: Target) => renderStage(config, change(target), 'Accepting', TALOS);
const kinds = (config: string) =>
  config.split(/^---\r?\n/m).map((document) => /^kind: (\S+)/m.exec(document)?.[1] ?? 'old');

const MOVING = ['kubernetes-aggregator', 'etcd-encryption', 'service-account'] as const;
const IN_ORDER = [
  'old',
  'HostnameConfig',
  'KubeAggregatorCAConfig',
  'KubeEtcdEncryptionConfig',
  'KubeServiceAccountConfig',
];

describe('a document that takes over old fields', () => {
  it('stands where Talos itself writes it, whichever moved first', () => {
    const config = aMachineConfig({ material: before });
    const atOnce = renderStage(config, changes, 'Accepting', TALOS);
    const rest = changes.filter(({ target }) => !MOVING.some((each) => each === target));
    const oneByOne = MOVING.toReversed().reduce(accepting, renderStage(config, rest, 'Accepting', TALOS));

    expect(kinds(atOnce)).toEqual(IN_ORDER);
    expect(oneByOne).toBe(atOnce);
    expect(MOVING.reduce(accepting, renderStage(config, rest, 'Accepting', TALOS))).toBe(atOnce);
  });

  it('begins on a line of its own, with the line ends of the text', () => {
    for (const eol of ['\n', '\r\n'] as const) {
      const config = aMachineConfig({ material: before, style: { eol, hasLastNewline: false } });
      const rendered = accepting(config, 'kubernetes-aggregator');

      expect(kinds(rendered)).toEqual(['old', 'HostnameConfig', 'KubeAggregatorCAConfig']);
      expect(rendered).toContain(
        `${eol}---${eol}apiVersion: v1alpha1${eol}kind: KubeAggregatorCAConfig${eol}issuingCA:${eol}`,
      );
      expect(rendered.endsWith(eol)).toBe(true);
    }
  });

  it('gives the text no last newline where it stands before another one', () => {
    const moved = accepting(aMachineConfig({ material: before }), 'service-account').split(/^---\n/m);
    const turned = [moved.pop() ?? '', ...moved.slice(1), moved[0] ?? '']
      .map((each) => `---\n${each}`)
      .join('')
      .trimEnd();
    expect(kinds(turned).slice(1)).toEqual(['KubeServiceAccountConfig', 'HostnameConfig', 'old']);

    const rendered = accepting(turned, 'etcd-encryption');

    expect(kinds(rendered).slice(1)).toEqual([
      'KubeEtcdEncryptionConfig',
      'KubeServiceAccountConfig',
      'HostnameConfig',
      'old',
    ]);
    expect(rendered).not.toMatch(/\n$/);
  });

  it('stands before one that begins the text without a marker', () => {
    const moved = accepting(aMachineConfig({ material: before }), 'service-account').split(/^---\n/m);
    const last = moved.pop() ?? '';
    const turned = [last, ...moved].join('---\n');
    expect(kinds(turned)).toEqual(['KubeServiceAccountConfig', 'old', 'HostnameConfig']);

    const rendered = accepting(turned, 'etcd-encryption');

    expect(rendered.startsWith('apiVersion: v1alpha1\nkind: KubeEtcdEncryptionConfig\n')).toBe(true);
    expect(kinds(rendered)).toEqual(['KubeEtcdEncryptionConfig', 'KubeServiceAccountConfig', 'old', 'HostnameConfig']);
    for (const target of ['etcd-encryption', 'service-account'] as const) {
      const [one] = change(target);
      expect(one && stageOf(rendered, one)).toBe('Accepting');
    }
  });
});

describe('a text without a last newline', () => {
  const bare = (config: string) => config.replace(/\n$/, '');

  it('gets it where its last document is a typed one that is written to', () => {
    const config = aMachineConfig({ material: before, shape: 'typed' }).split(/^---\n/m);
    const account = config.findIndex((document) => document.includes('kind: KubeServiceAccountConfig'));
    const last = [...config.toSpliced(account, 1), config[account] ?? ''].join('---\n');

    expect(accepting(bare(last), 'service-account')).toBe(accepting(last, 'service-account'));
  });

  it('stays as it is where nothing is to be written', () => {
    const config = bare(accepting(aMachineConfig({ material: before }), 'talos'));

    expect(accepting(config, 'talos')).toBe(config);
  });

  it('stays without it where the old document is the last one', () => {
    const config = aPlainWorker(before).split('cluster:\n').toReversed().join('cluster:\n');
    const turned = bare(`cluster:\n${config.replace('cluster:\n', '')}`);
    expect(turned.indexOf('machine:')).toBeGreaterThan(turned.indexOf('cluster:'));

    const rendered = accepting(turned, 'talos');

    expect(rendered.startsWith(turned)).toBe(true);
    expect(rendered).not.toMatch(/\n$/);
  });
});

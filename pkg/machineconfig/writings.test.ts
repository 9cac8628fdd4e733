import { beforeAll, describe, expect, it } from 'vitest';
import { aCa } from '../../test/builders/certificates.ts';
import {
  aMachineConfig,
  type ClusterMaterial,
  changesBetween,
  type MachineConfigOptions,
  someMaterial,
  type WritingStyle,
} from '../../test/builders/machine-config.ts';
import type { CertificateAndKey } from '../pki/index.ts';
import { type Change, openMachineConfig, renderStage } from './index.ts';

const TALOS = { talosVersion: 'v1.14.1' };
const STAGES = ['Accepting', 'Issuing', 'Dropping'] as const;

/** Targets whose old fields move to a document while both are accepted. */
const MOVING: ReadonlySet<string> = new Set(['kubernetes-aggregator', 'etcd-encryption', 'service-account']);

/** One way to write a configuration; the laws go through thousands (`laws.test.ts`), these stand for each difference. */
type Writing = Omit<MachineConfigOptions, 'material' | 'style'> & {
  readonly style?: Partial<WritingStyle>;
  readonly accepts?: 'others';
};

const WRITINGS: readonly [string, Writing][] = [
  ['as talosctl writes it', {}],
  ['with two blanks, CRLF and quotes', { style: { indent: 2, eol: '\r\n', quote: '"' } }],
  ['without its last newline', { style: { hasLastNewline: false, quote: "'" } }],
  ['with other CAs accepted', { accepts: 'others' }],
  ['with other CAs accepted in brackets', { accepts: 'others', style: { list: 'flow', hasComments: false } }],
  ['with empty lists in brackets', { style: { hasEmptyLists: true } }],
  ['half typed, with other CAs accepted', { shape: 'mixed', accepts: 'others' }],
  ['half typed, the documents first', { shape: 'mixed', style: { isReversed: true, hasLastNewline: false } }],
  ['typed', { shape: 'typed' }],
  ['typed, with other CAs accepted', { shape: 'typed', accepts: 'others', style: { indent: 2 } }],
  ['typed, with PEM in quotes', { shape: 'typed', accepts: 'others', style: { pem: 'quoted', list: 'flow' } }],
  ['typed, with CRLF and empty lists', { shape: 'typed', style: { eol: '\r\n', hasEmptyLists: true } }],
  ['typed, the documents first', { shape: 'typed', style: { isReversed: true, hasComments: false } }],
  ['for a worker', { role: 'worker', accepts: 'others' }],
  ['for a worker, with empty lists', { role: 'worker', style: { hasEmptyLists: true, hasLastNewline: false } }],
  ['for a worker, typed', { role: 'worker', shape: 'typed', style: { isReversed: true } }],
  ['for a worker, typed, in brackets', { role: 'worker', shape: 'typed', accepts: 'others', style: { list: 'flow' } }],
];

let before: ClusterMaterial;
let after: ClusterMaterial;
let others: readonly CertificateAndKey[];
let changes: Change[];

beforeAll(async () => {
  before = await someMaterial('key2');
  after = await someMaterial('key3');
  others = [await aCa('kubernetes'), await aCa('talos')];
  changes = changesBetween(before, after);
});

function written({ accepts, style, ...options }: Writing, material: ClusterMaterial): string {
  return aMachineConfig({ ...options, material, style: { ...style, foreign: accepts === 'others' ? others : [] } });
}

/** The changes whose material stays where it is written. */
function staying({ shape }: Writing): Change[] {
  return changes.filter(({ target }) => shape === 'typed' || !MOVING.has(target));
}

describe.each(WRITINGS)('a configuration written %s', (_how, writing) => {
  it('stands at every stage that it is rendered for, and is rendered once', () => {
    let text = written(writing, before);
    for (const stage of STAGES) {
      text = renderStage(text, changes, stage, TALOS);

      const open = openMachineConfig(text);
      for (const change of changes) {
        const isConcerned = writing.role !== 'worker' || change.target === 'talos' || change.target === 'kubernetes';
        expect(open.standing(change)).toEqual({ stage: isConcerned ? stage : 'NotConcerned' });
      }
      expect(open.drift(changes, stage)).toEqual([]);
      expect(open.render(changes, stage, TALOS)).toBe(text);
    }
  });

  it('is in Dropping, byte for byte, what it would be with the new material in the first place', () => {
    const wanted = staying(writing).filter(({ target }) => target !== 'etcd-encryption');
    const { encryption } = before;
    const kept =
      writing.shape === 'typed' ? {} : { aggregator: before.aggregator, serviceAccount: before.serviceAccount };

    const passed = STAGES.reduce((text, stage) => renderStage(text, wanted, stage, TALOS), written(writing, before));

    const expected = written(writing, { ...after, ...kept, encryption });
    expect([expected, `${expected}${writing.style?.eol ?? '\n'}`]).toContain(passed);
    expect(passed === expected || writing.style?.hasLastNewline === false).toBe(true);
  });

  it('is again what it was, byte for byte, when a change is undone', () => {
    const wanted = staying(writing);
    const undo = wanted.map((change) => ({ ...change, old: change.new, new: change.old }) as Change);
    const config = written(writing, before);

    for (const stage of ['Accepting', 'Issuing'] as const) {
      const undone = renderStage(renderStage(config, wanted, stage, TALOS), undo, 'Dropping', TALOS);

      expect(undone.trimEnd()).toBe(config.trimEnd());
    }
  });

  it('loses no line that is somebody else’s', () => {
    const theirs = (text: string) =>
      text.split(/\r?\n/).filter((line) => /kept|certSANs|token|kubelet|hostname/.test(line));
    const config = written(writing, before);

    for (const stage of STAGES) expect(theirs(renderStage(config, changes, stage, TALOS))).toEqual(theirs(config));
  });
});

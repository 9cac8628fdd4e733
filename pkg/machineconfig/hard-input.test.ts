import { beforeAll, describe, expect, it } from 'vitest';
import { aMachineConfig, base64, type ClusterMaterial, someMaterial } from '../../test/builders/machine-config.ts';
import { aPlainWorker } from '../../test/builders/plain-worker.ts';
import { type CaChange, decodeMachineConfig, readMachineConfig, renderStage } from './index.ts';

const TALOS = { talosVersion: 'v1.14.1' };

describe('hard input', () => {
  let before: ClusterMaterial;
  let after: ClusterMaterial;
  let talos: CaChange;
  let kubernetes: CaChange;
  let crt: string;

  beforeAll(async () => {
    before = await someMaterial('key2');
    after = await someMaterial('key3');
    talos = { target: 'talos', old: before.talos, new: after.talos };
    kubernetes = { target: 'kubernetes', old: before.kubernetes, new: after.kubernetes };
    crt = base64(before.talos.certificate.pem);
  });

  const worker = (lines: readonly string[] = []) => aPlainWorker(before, lines);

  function fault(config: string) {
    try {
      renderStage(config, [talos, kubernetes], 'Accepting', { ...TALOS, where: 'worker-1' });
    } catch (error) {
      const { kind, line, field, message } = error as { kind: string; line: number; field: string; message: string };
      return { kind, line, field, message };
    }
    return undefined;
  }

  describe('survives byte for byte', () => {
    it.each([
      [
        'numbers beyond 2^53 and YAML 1.1 spellings',
        '  big: 9007199254740993\n  oct: 0o17\n  under: 1_000\n  yes: yes\n  no: NO',
      ],
      ['long lines and folded texts', `  long: ${'x'.repeat(3000)}\n  folded: >-\n    one\n    two\n\n    three`],
      [
        'anchors, aliases and merges in fields of others',
        '  base: &base\n    a: 1\n  copy: *base\n  merged:\n    <<: *base\n    b: 2',
      ],
      ['tags and quotes', "  bin: !!binary aGk=\n  q: 'it''s'\n  d: \"\\u00e9\\n\""],
      [
        'text that looks like documents and fields',
        '  file: |\n    ---\n    machine:\n      ca:\n        crt: nonsense\n    kind: KubeAPIServerCAConfig',
      ],
      ['flow collections over several lines', '  list: [a,\n    b, {c: d,\n    e: f}]'],
      ['lists at the indent of their key', '  items:\n  - machine: x\n  - cluster: y\n  more: z'],
      ['keys that quote their name', '  "quoted key": 1\n  ? explicit\n  : value'],
    ])('%s', (_name, lines) => {
      const config = worker([lines.replaceAll(/^ {2}/gm, '  ')]);

      const there = renderStage(config, [talos, kubernetes], 'Accepting', TALOS);
      const back = renderStage(
        there,
        [
          { ...talos, old: talos.new, new: talos.old },
          { ...kubernetes, old: kubernetes.new, new: kubernetes.old },
        ],
        'Dropping',
        TALOS,
      );

      expect(there).toContain(lines);
      expect(back).toBe(config);
    });

    it('a byte order mark', () => {
      const bytes = new TextEncoder().encode(`\uFEFF${worker()}`);

      const config = decodeMachineConfig(bytes);

      expect(config.charCodeAt(0)).toBe(0xfeff);
      expect(renderStage(config, [talos], 'Accepting', TALOS).charCodeAt(0)).toBe(0xfeff);
    });

    it('an empty document, a comment-only one and an end marker', () => {
      const config = `# head\n---\n---\nnull\n---\n${worker()}...\n---\n# tail\n`;

      const rendered = renderStage(config, [talos], 'Accepting', TALOS);

      expect(rendered.startsWith('# head\n---\n---\nnull\n---\n')).toBe(true);
      expect(rendered.endsWith('...\n---\n# tail\n')).toBe(true);
    });

    it('a document that is JSON', () => {
      const json = JSON.stringify({
        machine: { type: 'worker', ca: { crt }, certSANs: ['a'] },
        cluster: { ca: { crt: base64(before.kubernetes.certificate.pem) } },
      });

      const accepting = renderStage(json, [talos, kubernetes], 'Accepting', TALOS);
      const dropping = renderStage(accepting, [talos, kubernetes], 'Dropping', TALOS);

      expect(JSON.parse(accepting).machine.acceptedCAs).toEqual([{ crt: base64(after.talos.certificate.pem) }]);
      expect(dropping).toBe(
        JSON.stringify({
          machine: { type: 'worker', ca: { crt: base64(after.talos.certificate.pem) }, certSANs: ['a'] },
          cluster: { ca: { crt: base64(after.kubernetes.certificate.pem) } },
        }),
      );
    });

    it('base64 in a literal block with lines of 76, read as Go reads it', () => {
      const wrapped = crt
        .match(/.{1,76}/g)
        ?.map((line) => `      ${line}`)
        .join('\n');
      const config = worker().replace(`crt: ${crt}`, `crt: |\n${wrapped}`);

      const rendered = renderStage(config, [talos], 'Dropping', TALOS);

      expect(readMachineConfig(rendered).talos.issuing?.fingerprint).toBe(after.talos.certificate.fingerprint);
    });
  });

  describe('is refused with its line and field', () => {
    it.each<[string, (plain: string) => string, { kind: string; line: number; field?: string }]>([
      [
        'an alias in place of a CA',
        (plain) => plain.replace('  ca:\n    crt: ', '  x: &ca\n    crt: ').replace('cluster:', '  ca: *ca\ncluster:'),
        { kind: 'indirect-value', line: 5, field: 'machine.ca' },
      ],
      [
        'an anchor on a certificate',
        (plain) => plain.replace('    crt: ', '    crt: &mine '),
        { kind: 'indirect-value', line: 4, field: 'machine.ca.crt' },
      ],
      [
        'a tag on a certificate',
        (plain) => plain.replace('    crt: ', '    crt: !!binary '),
        { kind: 'indirect-value', line: 4, field: 'machine.ca.crt' },
      ],
      [
        'a merge key beside a CA',
        (plain) => plain.replace('  type: worker', '  type: worker\n  <<: {}'),
        { kind: 'indirect-value', line: 3, field: 'machine.<<' },
      ],
      [
        'a duplicate key of ours',
        (plain) => plain.replace('cluster:', `  ca:\n    crt: ${''}x\ncluster:`),
        { kind: 'duplicate-key', line: 5, field: 'machine.ca' },
      ],
      [
        'a duplicate key of others',
        (plain) => plain.replace('cluster:', '  kubelet: {}\n  kubelet: {}\ncluster:'),
        { kind: 'duplicate-key', line: 6, field: 'machine.kubelet' },
      ],
      [
        'a duplicate key inside a CA',
        (plain) => plain.replace('cluster:', '    crt: x\ncluster:'),
        { kind: 'duplicate-key', line: 5, field: 'machine.ca.crt' },
      ],
      [
        'a second document of one kind',
        (plain) => `${plain}---\nkind: KubeClusterConfig\n---\nkind: KubeClusterConfig\n`,
        { kind: 'duplicate-document', line: 11 },
      ],
      [
        'a second old document',
        (plain) => `${plain}---\nversion: v1alpha1\nmachine: {}\n`,
        { kind: 'duplicate-document', line: 9 },
      ],
      [
        'no old document',
        () => 'kind: HostnameConfig\napiVersion: v1alpha1\n',
        { kind: 'not-a-machine-configuration', line: 0 },
      ],
      [
        'an unknown role',
        (plain) => plain.replace('worker', 'boss'),
        { kind: 'not-a-machine-configuration', line: 2, field: 'machine.type' },
      ],
      [
        'what is no base64',
        (plain) => plain.replace('    crt: LS0t', '    crt: no base64, LS0t'),
        { kind: 'bad-value', line: 4, field: 'machine.ca.crt' },
      ],
      [
        'folded base64, which Go does not read',
        (plain) => plain.replace(/ {4}crt: (.{20})/, '    crt: >\n      $1\n      '),
        { kind: 'bad-value', line: 4, field: 'machine.ca.crt' },
      ],
      [
        'a hidden key',
        (plain) => plain.replace('cluster:', '    key: "******"\ncluster:'),
        { kind: 'worker-holds-key', line: 4, field: 'machine.ca' },
      ],
      [
        'a list where fields belong',
        (plain) => plain.replace(/ca:\n {4}crt/, 'ca:\n    - crt'),
        { kind: 'bad-value', line: 4, field: 'machine.ca' },
      ],
      ['a tab as indent', (plain) => plain.replace('    crt', '\tcrt'), { kind: 'not-yaml', line: 4 }],
      [
        'a bare carriage return',
        (plain) => plain.replace('cluster:', 'a: 1\rb: 2\ncluster:'),
        { kind: 'not-yaml', line: 5 },
      ],
      [
        'a Unicode line break',
        (plain) => plain.replace('cluster:', '# \u2028machine:\ncluster:'),
        { kind: 'not-yaml', line: 5 },
      ],
      [
        'half of a surrogate pair',
        (plain) => plain.replace('cluster:', '# \ud800\ncluster:'),
        { kind: 'not-utf8', line: 5 },
      ],
      [
        'an unterminated quote',
        (plain) => plain.replace('cluster:', 'other: "x\ncluster:'),
        { kind: 'not-yaml', line: 5 },
      ],
    ])('%s', (_name, bend, { kind, line, field }) => {
      const found = fault(bend(worker()));

      expect({ kind: found?.kind, line: found?.line ?? 0, field: found?.field }).toEqual({ kind, line, field });
      expect(found?.message.startsWith('worker-1')).toBe(true);
    });

    it('bytes that are not UTF-8', () => {
      const bytes = new Uint8Array([...new TextEncoder().encode('machine:\n  type: '), 0xff, 0x0a]);

      expect(() => decodeMachineConfig(bytes, 'cp-1')).toThrow(
        'cp-1, line 2: the bytes are not UTF-8; Talos reads UTF-8 only',
      );
    });

    it('a certificate without its newline between two, which Go drops in silence', () => {
      const joined = before.talos.certificate.pem.trimEnd() + after.talos.certificate.pem;
      const config = worker().replace(crt, base64(joined));

      expect(fault(config)).toMatchObject({ kind: 'bad-value', line: 4, field: 'machine.ca.crt' });
    });
  });

  it('a PEM without its last newline gets one before anything is put behind it', () => {
    const bare = before.kubernetes.certificate.pem.trimEnd();
    const config = aMachineConfig({ material: before, shape: 'typed', role: 'worker' }).replace(
      /acceptedCAs:\n {4}- \|\n/,
      'acceptedCAs:\n    - |-\n',
    );
    expect(config).toContain('- |-');

    const rendered = renderStage(config, [kubernetes], 'Accepting', TALOS);

    expect(rendered).not.toContain('- |-');
    expect(readMachineConfig(rendered).kubernetes.accepted.map(({ pem }) => pem)).toEqual([
      `${bare}\n`,
      after.kubernetes.certificate.pem,
    ]);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { base64, type ClusterMaterial, someMaterial } from '../../test/builders/machine-config.ts';
import { aPlainWorker } from '../../test/builders/plain-worker.ts';
import { oneSecond, timed } from '../../test/support/one-second.ts';
import { type CaChange, renderStage } from './index.ts';

const TALOS = { talosVersion: 'v1.14.1' };

describe('large input', () => {
  let before: ClusterMaterial;
  let talos: CaChange;
  let kubernetes: CaChange;

  beforeAll(async () => {
    before = await someMaterial('key2');
    const after = await someMaterial('key3');
    talos = { target: 'talos', old: before.talos, new: after.talos };
    kubernetes = { target: 'kubernetes', old: before.kubernetes, new: after.kubernetes };
  });

  const worker = (lines: readonly string[] = []) => aPlainWorker(before, lines);

  /** The kind of the refusal. */
  function fault(config: string): string | undefined {
    try {
      renderStage(config, [talos, kubernetes], 'Accepting', TALOS);
    } catch (error) {
      return (error as { kind: string }).kind;
    }
    return undefined;
  }

  describe('bombs and bulk take less than a second', () => {
    it.each([
      ['brackets a million deep', () => `${worker()}x: ${'['.repeat(1_000_000)}`, 'nesting'],
      ['dashes a million deep', () => `${worker()}config:\n  ${'- '.repeat(1_000_000)}x\n`, 'nesting'],
      ['braces in a field of ours', () => `${worker()}config: ${'{a: '.repeat(200)}x${'}'.repeat(200)}\n`, 'nesting'],
      [
        'a billion laughs',
        () =>
          `${worker()}config:\n  a0: &a0 [x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, n) => `  a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]\n`).join('')}`,
        'aliases',
      ],
      [
        'laughs in a field of others',
        () =>
          `${worker(['  o0: &o0 [x,x,x,x,x,x,x,x,x]', ...Array.from({ length: 9 }, (_, n) => `  o${n + 1}: &o${n + 1} [${`*o${n},`.repeat(9)}]`)])}`,
        'aliases',
      ],
      ['a file of 17 MB', () => worker([`  pad: ${'x'.repeat(17 * 1024 * 1024)}`]), 'too-large'],
    ])('%s: refused', (_name, config, kind) => {
      const { result, ms } = timed(() => fault(config()));

      expect(result).toBe(kind);
      expect(ms).toBeLessThan(oneSecond());
    });

    it.each([
      [
        'one big file of 4 MB',
        () => `  files: |\n${'    some line of a file: with: colons\n'.repeat(110_000)}  end: 1`,
      ],
      [
        '4 MB of tiny fields',
        () => `  files:\n${Array.from({ length: 150_000 }, (_, n) => `    key${n}: value${n} # n\n`).join('')}  end: 1`,
      ],
      [
        '4 MB of quoted fields',
        () =>
          `  files:\n${Array.from({ length: 110_000 }, (_, n) => `    - "key${n}": 'value ${n}' # it's\n`).join('')}  end: 1`,
      ],
      ['4 MB of base64 in one line', () => `  files: ${'QUJD'.repeat(1_000_000)}`],
    ])('%s: rendered', (_name, lines) => {
      const config = worker([lines()]);
      expect(config.length).toBeGreaterThan(3_500_000);

      const { result, ms } = timed(() => renderStage(config, [talos, kubernetes], 'Dropping', TALOS));

      expect(result.length).toBeGreaterThan(3_500_000);
      expect(ms).toBeLessThan(oneSecond());
    });
  });

  it('200 certificates and a script with long lines render twice to the same bytes', () => {
    const script = `  script: |\n    #!/bin/sh\n    ${'echo long '.repeat(200)}\n`;
    const many = Array.from({ length: 200 }, () => `    - crt: ${base64(before.etcd.certificate.pem)}`).join('\n');
    const config = worker([script]).replace('cluster:', `  acceptedCAs:\n${many}\ncluster:`);

    const once = renderStage(config, [talos], 'Accepting', TALOS);

    expect(once.match(/- crt: /g)).toHaveLength(201);
    expect(once).toContain(script);
    expect(renderStage(once, [talos], 'Accepting', TALOS)).toBe(once);
  });
});

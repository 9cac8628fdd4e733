import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Runs `ichor version` with a Node that calls itself `version`. */
function ichorOn(version: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  const args = ['--import', `data:text/javascript,${pretend}`, join(import.meta.dirname, 'main.ts'), 'version'];
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

describe('ichor', () => {
  it('does nothing on a Node that is too old, and says which it needs', () => {
    const { status, stdout, stderr } = ichorOn('20.20.2');

    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toBe(
      `error: ichor needs Node 24; this is 20.20.2 (${process.execPath})\nStart it with another node; nothing was done.\n`,
    );
  });

  it.each(['24.0.0', '26.1.0'])('runs on Node %s', (version) => {
    const { status, stdout } = ichorOn(version);

    expect(status).toBe(0);
    expect(stdout).toMatch(/^ichor \d/);
  });
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCa } from '../../pkg/pki/index.ts';
import { folderOf } from '../support/folder.ts';
import { startIchor } from './ichor-process.ts';
import { findKeyBytes, keysIn, writtenIn } from './key-scan.ts';

describe('the scan for key bytes', () => {
  it('finds a key as PEM, as base64 of PEM, in JSON, and in hexadecimal', async () => {
    const { key } = await createCa('etcd', { now: Date.parse('2026-01-01T00:00:00Z') });
    const pem = key.expose();
    const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');

    const found = findKeyBytes(
      {
        pem,
        base64: Buffer.from(pem).toString('base64'),
        json: JSON.stringify({ key: pem }),
        hex: der.toString('hex'),
        clean: 'nothing to see',
      },
      [pem],
    );

    expect(found).toEqual([
      'pem holds bytes of key 1',
      'base64 holds bytes of key 1',
      'json holds bytes of key 1',
      'hex holds bytes of key 1',
    ]);
  });
});

describe('the scan of a cluster directory', () => {
  /** A directory with a key in its talosconfig, and a program that leaks it. */
  async function leaking(folder: string, leak: string) {
    const { key } = await createCa('talos', { now: Date.parse('2026-01-01T00:00:00Z') });
    const base64 = Buffer.from(key.expose()).toString('base64');
    writeFileSync(join(folder, 'talosconfig'), `contexts:\n    home:\n        key: ${base64}\n`);
    mkdirSync(join(folder, 'operations'));
    writeFileSync(join(folder, 'operations', 'rotate-1.yaml'), 'status: fine\n');
    const program = join(folder, '.program.mjs');
    writeFileSync(program, `import { appendFileSync } from 'node:fs';\nconst key = '${base64}';\n${leak}\n`);
    return { key: key.expose(), ended: startIchor([], { home: folder, program }).ended };
  }

  it('knows keys by the files that hold them, and what is written for people', async () => {
    await using folder = await folderOf({});
    const { key, ended } = await leaking(folder.path, 'process.exitCode = 3;');

    expect(await ended).toBe(3);
    expect(keysIn(folder.path)).toEqual([key]);
    expect(writtenIn(folder.path)).toEqual({ 'operations/rotate-1.yaml': 'status: fine\n' });
  });

  it.each([
    ['output', 'console.error(key);'],
    ['operations/rotate-1.yaml', `appendFileSync('operations/rotate-1.yaml', Buffer.from(key, 'base64').toString());`],
  ])('fails a run of ichor whose %s holds bytes of a key', async (where, leak) => {
    await using folder = await folderOf({});
    const inFolder = `process.chdir(${JSON.stringify(folder.path)});`;

    const { ended } = await leaking(folder.path, `${inFolder}${leak}`);

    await expect(ended).rejects.toThrow(`${where} holds bytes of key 1`);
  });
});

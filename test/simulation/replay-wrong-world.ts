import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseRecording } from '../recordings/recording.ts';
import { readOptions } from '../support/options.ts';
import { buildPatched } from './patched.ts';
import type * as Right from './replay.ts';
import { WRONG_WORLDS } from './wrong-worlds.ts';

const USAGE = `usage: node test/simulation/replay-wrong-world.ts FILE [NAME]

Does the rotation of a recording again in a world that is wrong on purpose, or in
the right one without a NAME, and prints how it differs, one sentence a line.
NAME is one of
${WRONG_WORLDS.map(({ name }) => `  ${name}\n`).join('')}`;

const { positionals } = readOptions(USAGE, { allowPositionals: true, options: {} });
const [file = '', name] = positionals;
const patch = name === undefined ? { name: 'none', edits: [] } : WRONG_WORLDS.find((wrong) => wrong.name === name);

if (patch === undefined) {
  process.stderr.write(`there is no wrong world ${JSON.stringify(name)}\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  const recording = parseRecording(readFileSync(file, 'utf8'), file);
  const folder = mkdtempSync(join(tmpdir(), 'wrong-world-'));
  try {
    const program = join(folder, 'replay.mjs');
    await buildPatched(patch, 'test/simulation/replay.ts', program);
    const { replay } = (await import(pathToFileURL(program).href)) as typeof Right;
    for (const difference of await replay(recording, 1)) process.stdout.write(`${difference}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

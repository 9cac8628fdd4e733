import { readFileSync } from 'node:fs';
import { parseRecording } from '../recordings/recording.ts';
import { countOption, readOptions } from '../support/options.ts';
import { replay } from './replay.ts';

const USAGE = `usage: npm run replay -- FILE [--seed 1]

Does the rotation of a recording again, in the simulated world with production
code, and prints how it differs, one sentence a line. Ends with 1 where it does.
`;

const { values, positionals } = readOptions(USAGE, {
  allowPositionals: true,
  options: { seed: { type: 'string', default: '1' } },
});
const [file] = positionals;

if (file === undefined || positionals.length > 1) {
  process.stderr.write(`one file is expected\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  const seed = countOption('seed', values.seed, [1, 1_000_000]);
  const found = await replay(parseRecording(readFileSync(file, 'utf8'), file), seed);
  for (const difference of found) process.stdout.write(`${difference}\n`);
  process.exitCode = found.length === 0 ? 0 : 1;
}

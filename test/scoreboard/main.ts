import { parseArgs } from 'node:util';
import { type Figure, holds, tableOf } from './figure.ts';
import { PARTS } from './parts.ts';

const NAMES = Object.keys(PARTS);
const USAGE = `usage: npm run scoreboard -- [PART...]

Measures the figures of docs/reference/reliability.md and prints them as a table beside what is asked.
Parts: ${NAMES.join(', ')}; all of them, about two hours on two processors, where none is named.
Ends with 1 where one falls short.
`;

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean', default: false } },
});
const stranger = wanted.find((name) => !NAMES.includes(name));
if (values.help || stranger !== undefined) {
  (values.help ? process.stdout : process.stderr).write(
    stranger === undefined ? USAGE : `no part is called ${stranger}\n\n${USAGE}`,
  );
  process.exitCode = values.help ? 0 : 2;
} else {
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(PARTS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    process.stderr.write(`measuring: ${name}\n`);
    figures.push(...(await measure()));
  }
  process.stdout.write(`${tableOf(figures)}\n`);
  process.exitCode = figures.every(holds) ? 0 : 1;
}

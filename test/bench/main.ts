import { parseArgs } from 'node:util';
import { run as cli } from './cli.ts';
import { run as machineconfig } from './machineconfig.ts';
import { type BenchRow, run as pki } from './pki.ts';
import { tableOfRows } from './rows-table.ts';
import { run as simulation } from './simulation.ts';

const USAGE = `usage: npm run bench -- [NAME...] [-o table|json]

Benchmarks that need nothing but this machine, run when none is named: pki, machineconfig, cli, simulation.
On real machines, about half an hour, only by name (needs Linux, root and Go): rotation.
`;

/** Every benchmark that needs no cluster, by name. */
const BENCHMARKS: Readonly<Record<string, () => Promise<readonly BenchRow[]>>> = {
  pki,
  machineconfig,
  cli,
  simulation,
};

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { output: { type: 'string', short: 'o', default: 'table' }, help: { type: 'boolean', default: false } },
});
const isJson = values.output === 'json';
const isRotation = wanted.length === 1 && wanted[0] === 'rotation';
const isKnown = isRotation || wanted.every((name) => name in BENCHMARKS);
if (values.help || !isKnown || !['json', 'table'].includes(values.output)) {
  (values.help ? process.stdout : process.stderr).write(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else {
  process.stdout.write(isRotation ? await rotation() : await small());
}

async function small(): Promise<string> {
  const rows: BenchRow[] = [];
  for (const [name, run] of Object.entries(BENCHMARKS)) {
    if (wanted.length === 0 || wanted.includes(name)) rows.push(...(await run()));
  }
  return isJson ? toJson(rows) : tableOfRows(rows);
}

async function rotation(): Promise<string> {
  const { run } = await import('./rotation/run.ts');
  const { tableOf } = await import('./rotation/table.ts');
  const result = await run();
  return isJson ? toJson(result) : tableOf(result);
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

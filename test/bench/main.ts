import { run as cli } from './cli.ts';
import { run as machineconfig } from './machineconfig.ts';
import { type BenchRow, run as pki } from './pki.ts';

/** Every benchmark that needs no cluster, by name. */
const BENCHMARKS: Readonly<Record<string, () => Promise<readonly BenchRow[]>>> = { pki, machineconfig, cli };

// Names on the command line choose; JSON goes to standard output, so that runs can be compared.
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  process.stderr.write(`no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}\n`);
  process.exitCode = 2;
} else {
  const rows: BenchRow[] = [];
  for (const [name, run] of Object.entries(BENCHMARKS)) {
    if (wanted.length === 0 || wanted.includes(name)) rows.push(...(await run()));
  }
  process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
}

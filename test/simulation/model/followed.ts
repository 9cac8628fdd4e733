import { readFileSync } from 'node:fs';
import { createMint, run, type Scenario } from '../../../internal/simulator/index.ts';
import { followedBy } from './follow.ts';

/** Follows the runs in a file with the model; says what it does not allow, and ends with 1 then. */
const [file = ''] = process.argv.slice(2);
const scenarios = JSON.parse(readFileSync(file, 'utf8')) as Scenario[];
const mint = await createMint(2);
for (const scenario of scenarios) {
  const { violations } = await run(scenario, { mint, checkers: [followedBy(scenario)] });
  for (const { at, message } of violations) {
    process.stdout.write(`REFUSED ${(at / 1_000).toFixed(1)} s: ${message.replaceAll('\n', ' | ')}\n`);
    process.exitCode = 1;
  }
}

import { killMutants, soundness, type Verdict } from './kill.ts';
import { MUTANTS } from './mutants/index.ts';

/** Which rows of the catalogue and of the bug reports a list of verdicts covers. */
function rowsOf(verdicts: readonly Verdict[]): { readonly catalogue: number; readonly reports: number } {
  const names = new Set(verdicts.flatMap(({ row }) => row.split(/\s+/)));
  const count = (form: RegExp) => [...names].filter((name) => form.test(name)).length;
  return { catalogue: count(/^[A-K]\d{1,2}$|^L\df$/), reports: count(/^P\d{2}$/) };
}

const [pattern = '', ...flags] = process.argv.slice(2);
const chosen = MUTANTS.filter(({ name, row }) => new RegExp(pattern).test(`${name} ${row}`));
if (flags.includes('--sound')) {
  process.stdout.write(`without a mutant: ${(await soundness(chosen)) ?? 'every run ends well'}\n`);
}
const verdicts = await killMutants(chosen, ({ name, row, by, killedBy }) => {
  process.stdout.write(`${killedBy === undefined ? 'LIVES ' : 'killed'} [${row}] ${name}: ${by}: ${killedBy ?? ''}\n`);
});
const killed = verdicts.filter(({ killedBy }) => killedBy !== undefined);
const rows = rowsOf(killed);
process.stdout.write(
  `${killed.length} of ${verdicts.length} mutants killed, ${killed.filter(({ by }) => by === 'search').length} by the search; ` +
    `${rows.catalogue} of 141 rows of the catalogue, ${rows.reports} of 52 bug reports\n`,
);
process.exitCode = killed.length === verdicts.length ? 0 : 1;

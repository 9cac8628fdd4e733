import { killMutants, rowsOf, soundness } from './kill.ts';
import { MUTANTS } from './mutants/index.ts';

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

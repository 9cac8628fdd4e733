/** What Stryker says of one mutant; its report holds more. */
export interface MutantResult {
  readonly status: string;
}

/** The part of Stryker's JSON report that is read (schema `mutation-testing-report-schema`). */
export interface MutationReport {
  readonly files: Readonly<Record<string, { readonly mutants: readonly MutantResult[] }>>;
}

/** A part of the tree that has a limit of its own. */
export interface Part {
  readonly name: string;
  readonly holds: (path: string) => boolean;
  /** Per cent of its mutants that tests must notice. */
  readonly atLeast: number;
}

/** How many mutants of a part were noticed. */
export interface Score {
  readonly name: string;
  readonly noticed: number;
  readonly mutants: number;
  readonly atLeast: number;
}

/** What decides about machines is held to more than what reads and writes for it. */
export const PARTS: readonly Part[] = [
  {
    name: 'decide and gates',
    holds: (path) => path === 'internal/rotation/decide.ts' || path.startsWith('internal/rotation/gates/'),
    atLeast: 95,
  },
  { name: 'internal/rotation', holds: (path) => path.startsWith('internal/rotation/'), atLeast: 85 },
  { name: 'pkg/pki', holds: (path) => path.startsWith('pkg/pki/'), atLeast: 85 },
  { name: 'pkg/machineconfig', holds: (path) => path.startsWith('pkg/machineconfig/'), atLeast: 85 },
  { name: 'all', holds: () => true, atLeast: 85 },
];

const NOTICED: ReadonlySet<string> = new Set(['Killed', 'Timeout']);
const UNNOTICED: ReadonlySet<string> = new Set(['Survived', 'NoCoverage']);

/** Several reports as one; of a file that is in more than one of them, the last one counts. */
export function wholeOf(reports: readonly MutationReport[]): MutationReport {
  return { files: Object.assign({}, ...reports.map(({ files }) => files)) as MutationReport['files'] };
}

/** The score of each part of which the report holds a mutant; mutants that do not run, or are said to change nothing, are not counted. */
export function scoresOf(report: MutationReport, parts: readonly Part[] = PARTS): Score[] {
  return parts.flatMap(({ name, holds, atLeast }) => {
    const results = Object.entries(report.files).flatMap(([path, { mutants }]) => (holds(path) ? mutants : []));
    const noticed = results.filter(({ status }) => NOTICED.has(status)).length;
    const mutants = noticed + results.filter(({ status }) => UNNOTICED.has(status)).length;
    return mutants === 0 ? [] : [{ name, noticed, mutants, atLeast }];
  });
}

/** Per cent of the mutants that were noticed. */
export function percentOf({ noticed, mutants }: Score): number {
  return (100 * noticed) / mutants;
}

/** One line for each score, with its limit. */
export function scoreLines(scores: readonly Score[]): string[] {
  return scores.map((score) => {
    const percent = percentOf(score);
    const judged = percent >= score.atLeast ? '' : ', which is TOO FEW';
    return `${score.name}: ${score.noticed} of ${score.mutants} mutants noticed, ${percent.toFixed(1)} % (at least ${score.atLeast} %${judged})`;
  });
}

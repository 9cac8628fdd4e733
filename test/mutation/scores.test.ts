import { describe, expect, it } from 'vitest';
import { type MutationReport, scoreLines, scoresOf, wholeOf } from './scores.ts';

function aReport(files: Readonly<Record<string, readonly string[]>>): MutationReport {
  const entries = Object.entries(files).map(([path, statuses]) => [
    path,
    { mutants: statuses.map((status) => ({ status })) },
  ]);
  return { files: Object.fromEntries(entries) };
}

describe('scores of mutation testing', () => {
  it('counts what tests notice, and no mutant that does not run', () => {
    const report = aReport({
      'pkg/pki/pem.ts': ['Killed', 'Timeout', 'Survived', 'NoCoverage', 'Ignored', 'CompileError', 'RuntimeError'],
    });

    expect(scoresOf(report)).toEqual([
      { name: 'pkg/pki', noticed: 2, mutants: 4, atLeast: 85 },
      { name: 'all', noticed: 2, mutants: 4, atLeast: 85 },
    ]);
  });

  it('holds what decides to more than the rest', () => {
    const report = aReport({
      'internal/rotation/decide.ts': ['Killed', 'Survived'],
      'internal/rotation/gates/etcd-is-whole.ts': ['Killed'],
      'internal/rotation/plan.ts': ['Killed'],
    });

    expect(scoresOf(report)).toEqual([
      { name: 'decide and gates', noticed: 2, mutants: 3, atLeast: 95 },
      { name: 'internal/rotation', noticed: 3, mutants: 4, atLeast: 85 },
      { name: 'all', noticed: 3, mutants: 4, atLeast: 85 },
    ]);
  });

  it('takes several reports for one, and of a file the last', () => {
    const reports = [
      aReport({ 'pkg/pki/pem.ts': ['Survived', 'Survived'], 'pkg/pki/ca.ts': ['Killed'] }),
      aReport({ 'pkg/pki/pem.ts': ['Killed', 'Survived'], 'pkg/pki/der.ts': ['Killed'] }),
    ];

    expect(scoresOf(wholeOf(reports))).toEqual([
      { name: 'pkg/pki', noticed: 3, mutants: 4, atLeast: 85 },
      { name: 'all', noticed: 3, mutants: 4, atLeast: 85 },
    ]);
  });

  it('says which score is too low', () => {
    expect(
      scoreLines([
        { name: 'pkg/pki', noticed: 17, mutants: 20, atLeast: 85 },
        { name: 'decide and gates', noticed: 2, mutants: 3, atLeast: 95 },
      ]),
    ).toEqual([
      'pkg/pki: 17 of 20 mutants noticed, 85.0 % (at least 85 %)',
      'decide and gates: 2 of 3 mutants noticed, 66.7 % (at least 95 %, which is TOO FEW)',
    ]);
  });
});

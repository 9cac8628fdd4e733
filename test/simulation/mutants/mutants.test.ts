import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from './index.ts';

describe('the mutants', () => {
  it('fit the code as it is: what each takes the place of is there', () => {
    const misfits = MUTANTS.flatMap(({ name, edits }) =>
      edits
        .filter(({ file, find }) => !readFileSync(file, 'utf8').includes(find))
        .map(({ file }) => `${name}: ${file}`),
    );

    expect(misfits).toEqual([]);
  });

  it('change something', () => {
    expect(MUTANTS.filter(({ edits }) => edits.some(({ find, replace }) => find === replace))).toEqual([]);
  });

  it('have runs or tests that are to notice them, and tests that exist', () => {
    expect(MUTANTS.filter(({ scenarios = [], tests = [] }) => scenarios.length + tests.length === 0)).toEqual([]);
    expect(MUTANTS.flatMap(({ tests = [] }) => tests).filter((path) => !existsSync(path))).toEqual([]);
  });

  it('have names of their own, by which one of them is run', () => {
    const names = MUTANTS.map(({ name }) => name);

    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

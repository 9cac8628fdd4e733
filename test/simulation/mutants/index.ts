import { ENGINE_MUTANTS } from './engine.ts';
import { PROTOCOL } from './first.ts';
import { MORE_MUTANTS } from './more.ts';
import type { Mutant } from './mutant.ts';
import { PACKAGE_MUTANTS } from './packages.ts';
import { PROPERTY_MUTANTS } from './properties.ts';
import { ROLL_MUTANTS } from './roll.ts';
import { STAGE_MUTANTS } from './stages.ts';
import { STORAGE_MUTANTS } from './storage.ts';
import { ABANDON_MUTANTS, TRUST_MUTANTS } from './trust.ts';

/** Every mutant; `npm run mutants` kills them. */
export const MUTANTS: readonly Mutant[] = [
  ...PROTOCOL,
  ...STAGE_MUTANTS,
  ...ROLL_MUTANTS,
  ...STORAGE_MUTANTS,
  ...ENGINE_MUTANTS,
  ...TRUST_MUTANTS,
  ...ABANDON_MUTANTS,
  ...MORE_MUTANTS,
  ...PACKAGE_MUTANTS,
  ...PROPERTY_MUTANTS,
];

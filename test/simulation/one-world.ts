import { beforeAll } from 'vitest';
import { CHECKERS, createMint, type Mint, type RunResult, run, type Scenario } from '../../internal/simulator/index.ts';

/** The stock of one test file, and runs over it that are held to every property. */
export function simulations(): { (scenario: Scenario): Promise<RunResult>; mint(): Mint } {
  let stock: Mint | undefined;
  const mint = (): Mint => {
    if (stock === undefined) throw new Error('the mint is made before the tests begin');
    return stock;
  };
  beforeAll(async () => {
    stock = await createMint(2);
  });
  return Object.assign((scenario: Scenario) => run(scenario, { mint: mint(), checkers: CHECKERS }), { mint });
}

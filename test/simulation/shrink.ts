import type { RunResult, Scenario } from '../../internal/simulator/index.ts';
import { failuresOf } from './verdict.ts';

/** Runs a scenario. */
export type Runner = (scenario: Scenario) => Promise<RunResult>;

/** A smaller scenario that fails in the same way: drawn faults are named first, then whatever is not needed is left out. */
export async function shrink(
  scenario: Scenario,
  result: RunResult,
  runner: Runner,
  tries = 40,
): Promise<{ readonly scenario: Scenario; readonly result: RunResult }> {
  const wanted = kindOf(scenario, result);
  let best = { scenario, result };
  let left = tries;
  const attempt = async (candidate: Scenario): Promise<boolean> => {
    if (left <= 0) return false;
    left -= 1;
    const found = await runner(candidate);
    if (kindOf(candidate, found) !== wanted) return false;
    best = { scenario: candidate, result: found };
    return true;
  };
  const { faultRate: _rate, outcomes: _outcomes, ...named } = scenario;
  await attempt({ ...named, faults: [...result.fired] });
  for (const key of ['happenings', 'faults'] as const) {
    for (let index = (best.scenario[key] ?? []).length - 1; index >= 0; index -= 1) {
      const rest = (best.scenario[key] ?? []).filter((_, at) => at !== index);
      await attempt({ ...best.scenario, [key]: rest });
    }
  }
  return best;
}

/** What failed, without times and numbers. */
function kindOf(scenario: Scenario, result: RunResult): string {
  const [first] = failuresOf(scenario, result);
  return first?.split(' ')[0] ?? '';
}

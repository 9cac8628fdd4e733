import type { RunResult, Scenario } from '../../internal/simulator/index.ts';
import { failuresOf, textOf } from './verdict.ts';

/** A failed run as a person reads it: what it was, what went wrong, how it came to that, and how to see it again. */
export function storyOf(scenario: Scenario, result: RunResult, options: { readonly lines?: number } = {}): string {
  const { world } = result;
  const faults = result.fired.map((fault) => `${textOf(fault)} (${result.calls[fault.at]})`);
  const lines = world.lines.slice(-(options.lines ?? 60));
  return [
    `${scenario.controlPlanes}+${scenario.workers}, ${scenario.targets.join(', ')}, seed ${scenario.seed}, hash ${result.hash}`,
    ...failuresOf(scenario, result).map((failure) => `  FAILED ${failure}`),
    ...faults.map((fault) => `  fault: ${fault}`),
    ...(scenario.happenings ?? []).map((each) => `  happening: ${JSON.stringify(each)}`),
    '  the end of the story:',
    ...lines.map(({ at, what }) => `    ${(at / 1_000).toFixed(1).padStart(7)} s  ${what}`),
    `  again: npm run search -- --scenario '${JSON.stringify(scenario)}'`,
  ].join('\n');
}

import type { Fault, RunResult, Scenario } from '../../internal/simulator/index.ts';

/** Why a run failed; empty where it passed. */
export function failuresOf(scenario: Scenario, result: RunResult): string[] {
  const failures = result.violations.map(
    ({ property, at, message }) => `${property} at ${(at / 1_000).toFixed(1)} s: ${message}`,
  );
  const unfired = (scenario.faults ?? []).filter((fault) => !result.fired.some((each) => each.at === fault.at));
  for (const fault of result.end === 'broken' ? [] : unfired)
    failures.push(`the planned fault ${textOf(fault)} never happened`);
  if (!isExpectedEnd(scenario, result)) {
    const status = result.operation?.status;
    failures.push(
      `L1 progress: the run ended ${result.end} in ${status?.stage}: ${status?.reason}: ${status?.message}`,
    );
  }
  return failures;
}

/** A run is done; one that was deleted may be gone, and one that was left with an even number of control planes says so. */
function isExpectedEnd({ happenings = [], expect }: Scenario, { end, operation, world }: RunResult): boolean {
  if (expect !== undefined) return end === expect && (operation?.status.message ?? '') !== '';
  // What was broken is told already.
  if (end === 'done' || end === 'broken') return true;
  const isEven = world.planes().length % 2 === 0;
  if (end === 'blocked' && isEven) return operation?.status.reason === 'ClusterTransitioning';
  return end === 'gone' && happenings.some(({ what }) => what === 'delete');
}

/** A fault in a few words. */
export function textOf({ at, outcome, delayMs }: Fault): string {
  return `call ${at} ${outcome}${delayMs === undefined ? '' : ` after ${delayMs} ms`}`;
}

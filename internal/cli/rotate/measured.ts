import type { Durations } from '../../rotation/plan-durations.ts';
import type { AuditEntry } from '../../store/index.ts';

/** Longer than that nobody waited for a machine, but for a person. */
const LONGEST_REBOOT_MS = 20 * 60_000;

/**
 * How long this cluster's own control planes took from the request of their reboot until the cluster was whole again, by
 * the audit trail of the rotations before: the median, as one may have waited for somebody. Nothing where none rebooted.
 */
export function measuredDurations(trail: readonly AuditEntry[]): Partial<Durations> {
  const took: number[] = [];
  const requested = new Map<string, number>();
  for (const { time, operation, effect, machine, phase, outcome } of trail) {
    const key = `${operation}/${machine}`;
    const at = Date.parse(time);
    // One that was asked for again has lasted since the first request.
    if (effect === 'reboot' && phase === 'before' && !requested.has(key)) requested.set(key, at);
    // What the evacuation hook takes once the cluster is whole is no part of it.
    const isWhole =
      (effect === 'readmit' && phase === 'before') || (effect === 'uncordon' && phase === 'after' && outcome === 'ok');
    if (!isWhole) continue;
    const lasted = at - (requested.get(key) ?? Number.NaN);
    requested.delete(key);
    if (lasted > 0 && lasted <= LONGEST_REBOOT_MS) took.push(lasted);
  }
  const rebootMs = took.sort((a, b) => a - b)[Math.floor(took.length / 2)];
  return rebootMs === undefined ? {} : { rebootMs };
}

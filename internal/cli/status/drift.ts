import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import type { Observation } from '../../rotation/observation.ts';

/**
 * Machines that do not run on what the bundle holds, one sentence each: somebody
 * else changed the configuration, or the machine came back with an older disk. Such
 * a machine may show a certificate that nothing here trusts any more.
 */
export function driftOf({ machines }: Pick<Observation, 'machines'>): string[] {
  return machines.flatMap(({ name, talos }) => {
    if (!talos.known) return talos.why === 'untrusted' ? [`${name}: ${talos.message}`] : [];
    return CA_TARGETS.flatMap((target) => {
      const standing = talos.value.standing[target];
      return standing.stage === 'Foreign' ? [`${name}, ${target}: ${standing.why}`] : [];
    });
  });
}

/** What is said of it to people: a machine that did not answer is never counted among those without drift. */
export function driftLines(
  drift: readonly string[],
  machines: readonly { readonly name: string; readonly isKnown: boolean }[],
): string[] {
  if (drift.length > 0) return ['drift:', ...drift.map((line) => `  ${line}`)];
  const unread = machines.filter(({ isKnown }) => !isKnown).map(({ name }) => name);
  if (unread.length > 0) return [`drift: unknown of ${unread.join(', ')}`];
  return machines.length > 0 ? ['no drift'] : ['drift: unknown'];
}

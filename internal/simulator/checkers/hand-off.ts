import { HANDOFF_ANNOTATION, handoffToken } from '../../../api/v1alpha1/index.ts';
import type { Checker } from '../run.ts';

/** L11: where people's credentials depend on it, nothing is issued before somebody said that the new ones are in their hands. */
export function handOff(): Checker {
  let isAsked = false;
  return {
    property: 'L11 hand-off',
    check({ operation, scenario }) {
      const stage = operation?.status.stage;
      if (operation === undefined || stage !== 'Issuing' || isAsked) return undefined;
      isAsked = true;
      if (!scenario.targets.some((target) => target === 'talos' || target === 'kubernetes')) return undefined;
      const given = operation.metadata.annotations[HANDOFF_ANNOTATION];
      return given === handoffToken(operation.status.caRotation) ? undefined : 'issuing began before the hand-off';
    },
  };
}

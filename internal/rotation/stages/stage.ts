import type { CaStage } from '../../../api/v1alpha1/index.ts';
import type { Context, Step } from '../context.ts';
import { firstBlocker } from '../context.ts';
import type { Decision } from '../decision.ts';
import { STAGE_PROVED } from '../gates/index.ts';
import { hold } from '../hold.ts';

/** One stage: its steps in order; the first that has something to say decides. */
export interface Stage {
  /** What the stage is for, as the plan shows it. */
  readonly summary: string;
  readonly steps: readonly Step[];
}

/** Every machine is proved and the cluster is whole: the stage may be left. */
export function proved(context: Context): Decision | undefined {
  const blocker = firstBlocker(STAGE_PROVED, context);
  return blocker === undefined ? undefined : hold(context, blocker);
}

/** What the targets of this rotation still wait for in this stage. */
export function settled(context: Context): Decision | undefined {
  const steps = new Set(context.targets.flatMap((target) => target.settle[context.stage] ?? []));
  for (const step of steps) {
    const decision = step(context);
    if (decision !== undefined) return decision;
  }
  return undefined;
}

/** The step that leaves a stage for another. */
export function enter(next: (context: Context) => CaStage): Step {
  return (context) => {
    const stage = next(context);
    return {
      kind: 'act',
      effect: { kind: 'enter-stage', stage },
      reason: 'StageProved',
      message: `${context.stage} is proved on every machine; entering ${stage}`,
    };
  };
}

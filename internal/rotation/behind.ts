import { type Context, isKnown, type KnownMachine } from './context.ts';
import { CONFIG_STAGES, configStageOf } from './observation.ts';
import type { TargetDescriptor } from './targets/descriptor.ts';

/** Whether a machine's configuration stands before the stage for any target. */
export function isBehind(context: Context, machine: KnownMachine): boolean {
  return stagesBehind(context, machine) > 0;
}

/**
 * Whether a machine stands two stages behind the others, as one does whose disk
 * was restored: machines that are one stage apart understand each other, those
 * two apart do not, so it is not well and cannot become well before it is told.
 */
export function isLeftBehind(context: Context, machine: KnownMachine): boolean {
  return stagesBehind(context, machine) > 1;
}

/** The same picture for gates that are to ask how all the others are. */
export function withoutLeftBehind(context: Context): Context {
  const left = context.observation.machines.filter((each) => isKnown(each) && isLeftBehind(context, each));
  return { ...context, leftBehind: new Set(left.map((each) => each.name)) };
}

/** Whether it is about to be told something for which Talos restarts its kubelet. */
export function restartsKubelet(context: Context, machine: KnownMachine): boolean {
  return context.targets.some((target) => target.restartsKubelet && stagesBehindIn(context, machine, target) > 0);
}

/** Whether what it is about to be told, or to go back to, is something for which Talos restarts its kube-apiserver. */
export function restartsApiServer(context: Context, machine: KnownMachine): boolean {
  return context.targets.some((target) => target.restartsApiServer && stagesBehindIn(context, machine, target) !== 0);
}

function stagesBehind(context: Context, machine: KnownMachine): number {
  return Math.max(0, ...context.targets.map((target) => stagesBehindIn(context, machine, target)));
}

function stagesBehindIn(context: Context, machine: KnownMachine, { name }: TargetDescriptor): number {
  const wanted = CONFIG_STAGES.indexOf(configStageOf(context.stage));
  const standing = machine.talos.value.standing[name];
  if (standing.stage === 'NotConcerned' || standing.stage === 'Foreign') return 0;
  return wanted - CONFIG_STAGES.indexOf(standing.stage);
}

import { type CaTarget, DEFAULT_CA_TARGETS, ROTATION_FINALIZER, sortCaTargets } from '../../api/v1alpha1/index.ts';
import { abandoned } from './abandon.ts';
import { type Context, DEFAULT_SETTINGS, type Settings, type Step } from './context.ts';
import { blockedBy, type Decision, waitFor } from './decision.ts';
import { recordIsKept } from './gates/record-is-kept.ts';
import type { Needs, Observation } from './observation.ts';
import { quiescence } from './quiescence.ts';
import { rebooting } from './rebooting.ts';
import { STAGES } from './stages/index.ts';
import type { ReadingName } from './targets/descriptor.ts';
import { descriptorsOf } from './targets/index.ts';

/**
 * What to do next, from one picture of the cluster alone. The questions are
 * asked in this order, and the first that has an answer decides:
 *
 * 1. is it over? 2. is it to be abandoned? 3. can a call of ours still land?
 * 4. is the record there that everything is compared with? 5. is a machine
 * rebooting for us? 6. did somebody pause it? 7. the steps of the stage: bring
 * every machine there and prove it, reboot what must reread, ask the gates, wait
 * for what must settle, go on.
 */
export function decide(observation: Observation, settings: Settings = DEFAULT_SETTINGS): Decision {
  const context = contextOf(observation, settings);
  for (const step of stepsOf(context)) {
    const decision = step(context);
    if (decision !== undefined) return decision;
  }
  // Stryker disable next-line all: the last step of every stage decides, so no test can come here
  throw new Error(`stage ${context.stage} has no step that decides`);
}

function stepsOf({ stage }: Context): readonly Step[] {
  if (stage === 'Done') return [over];
  return [abandoned, quiescence, recorded, rebooting, paused, ...STAGES[stage].steps];
}

/** One observation with everything that is derived from it once: targets, material, stage. */
export function contextOf(observation: Observation, settings: Settings = DEFAULT_SETTINGS): Context {
  const { status } = observation.operation;
  const names = targetsOf(observation);
  return {
    observation,
    settings,
    stage: status.stage,
    status: status.caRotation,
    targets: descriptorsOf(names),
    material: observation.store.material ?? {},
  };
}

/** The targets: frozen by the record once it is written, chosen by the spec before. */
export function targetsOf({ operation, store }: Pick<Observation, 'operation' | 'store'>): CaTarget[] {
  if (store.material !== undefined) return sortCaTargets(Object.keys(store.material) as CaTarget[]);
  const { targets } = operation.spec.caRotation ?? {};
  return sortCaTargets(targets === undefined || targets.length === 0 ? DEFAULT_CA_TARGETS : targets);
}

function over({ observation, material }: Context): Decision {
  const { message } = observation.operation.status;
  if (observation.store.material !== undefined && !observation.store.bundleReplaced) {
    // Somebody put an older bundle back: what the machines run with is in the record alone.
    const names = Object.keys(material).join(', ');
    return blockedBy({
      reason: 'BundleMismatch',
      message: `the rotation is done, and secrets.yaml does not hold its new CAs (${names}); expected them there before the record, which holds them, is removed`,
    });
  }
  // Done was written before the record was removed; a crash between the two is finished here.
  const held = observation.operation.metadata.finalizers.includes(ROTATION_FINALIZER);
  if (held || observation.store.material !== undefined) {
    return { kind: 'act', effect: { kind: 'complete' }, reason: 'Completed', message };
  }
  return { kind: 'done', reason: 'Completed', message };
}

function recorded(context: Context): Decision | undefined {
  const blocker = recordIsKept(context);
  return blocker === undefined ? undefined : blockedBy(blocker);
}

function paused({ observation }: Context): Decision | undefined {
  if (!observation.operation.spec.paused) return undefined;
  return waitFor({ reason: 'PausedByUser', message: 'paused; nothing is sent to any machine' }, 5_000);
}

/** Which expensive parts the next observation must hold for `decide` to get on. */
export function needsOf({ operation, store }: Pick<Observation, 'operation' | 'store'>): Needs {
  const { stage, caRotation } = operation.status;
  const targets = descriptorsOf(targetsOf({ operation, store }));
  const isAsked = (part: ReadingName) => targets.some(({ needs }) => needs[stage]?.includes(part));
  return {
    etcdServed: isAsked('etcdServed'),
    authentication: isAsked('authentication'),
    rootCa: isAsked('rootCa'),
    stalePods: isAsked('stalePods'),
    talosAccess: isAsked('talosAccess'),
    controllerManager: isAsked('controllerManager'),
    // Asked of discovery in every stage: what has no Node is cut off with the old CA, and may join at any time.
    unlisted: stage !== 'Done' && targets.some((target) => target.concerns === 'all'),
    draining: caRotation.etcdDraining,
    controlPlanePods: stage !== 'Done',
    refusals: stage === 'Finalizing' && store.bundleReplaced,
  };
}

import { landed, requested } from './landing.ts';
import type { Model, Shape } from './rules.ts';
import {
  CONFIGURATIONS,
  CORDON,
  configOf,
  LATE,
  type Machine,
  machineAt,
  NOTE,
  PHASE,
  POOL,
  poolOf,
  REBOOT,
  type State,
  TOLD,
  withMachine,
} from './state.ts';
import { lessForeign, type Step } from './step.ts';

type Happening = readonly [what: string, to: State];

/** What happens by itself, and what others do. */
export function worldSteps(state: State, { shape }: Model): Step[] {
  const steps: Step[] = [];
  for (let machine = 0; machine < state.machines.length; machine += 1) {
    const add = (happenings: readonly Happening[], isFault: boolean): void => {
      for (const [what, to] of happenings) steps.push({ what, machine, isFault, to });
    };
    add(ofTalos(state, machine, shape), false);
    add(ofCalls(state, machine), false);
    add(ofOthers(state, machine, shape), true);
  }
  return steps;
}

/** Talos, etcd and the kubelet of one machine. */
function ofTalos(state: State, index: number, shape: Shape): Happening[] {
  const { phase, took, config, cordon } = machineAt(state, index);
  const happenings: Happening[] = [];
  if (took !== config && phase !== PHASE.down) {
    const isRestart = shape.restartsPods && phase === PHASE.serving;
    const change = isRestart ? { phase: PHASE.due, byUs: true } : {};
    happenings.push([
      'makes certificates of its configuration',
      mended(withMachine(state, index, { took: config, ...change }), index),
    ]);
  }
  if (cordon === CORDON.cordoned) happenings.push(['is empty', withMachine(state, index, { cordon: CORDON.drained })]);
  const next = onwards(state, index);
  return next === undefined ? happenings : [...happenings, next];
}

/** The way of a machine back to where everything on it runs. */
function onwards(state: State, index: number): Happening | undefined {
  const { phase, took, byUs } = machineAt(state, index);
  switch (phase) {
    case PHASE.serving:
      return undefined;
    case PHASE.due:
      return ['stops its static pods', withMachine(state, index, { phase: PHASE.podsDown, apiPool: POOL.none })];
    case PHASE.podsDown:
      return ['starts its static pods', withMachine(state, index, { phase: PHASE.starting, apiPool: poolOf(took) })];
    case PHASE.starting:
      return ['serves', served(state, index, {})];
    case PHASE.etcdDown:
      return ['starts etcd again', served(state, index, { pool: poolOf(took) })];
    case PHASE.stopping:
      return ['goes down', down(state, index, { byUs })];
    case PHASE.down:
      return ['boots', booted(state, index)];
    case PHASE.booting:
      return ['starts etcd', withMachine(state, index, { phase: PHASE.podsDown, pool: poolOf(took) })];
  }
}

/** Everything on it runs again. */
function served(state: State, index: number, read: Partial<Machine>): State {
  return mended(withMachine(state, index, { ...read, phase: PHASE.serving, byUs: false }), index);
}

/** An older disk does no harm any more once the machine was told of the stage and runs with all of it. */
function mended(state: State, index: number): State {
  const { restored, config, took, pool, apiPool } = machineAt(state, index);
  const isLike = [pool, apiPool].every((each) => each === poolOf(config)) && took === config;
  if (!restored || !isLike || config < configOf(state.stage)) return state;
  return withMachine(state, index, { restored: false });
}

/** Nothing runs; calls to this boot are gone with their connections, and the next one begins with what is stored. */
function down(state: State, index: number, change: Partial<Machine>): State {
  const { config } = { ...machineAt(state, index), ...change };
  const off = { phase: PHASE.down, call: 0, pool: POOL.none, apiPool: POOL.none, took: config };
  return withMachine(state, index, { ...change, ...off });
}

/** Another boot: whatever was noted was noted in the one before. */
function booted(state: State, index: number): State {
  const { told, note } = machineAt(state, index);
  const to = withMachine(state, index, {
    phase: PHASE.booting,
    told: told === TOLD.here ? TOLD.before : told,
    note: note === NOTE.applyHere ? NOTE.applyBefore : note === NOTE.rebootHere ? NOTE.rebootBefore : note,
  });
  const isMarked = to.marker === index;
  const isTarget = to.target === index;
  return { ...to, markerHere: to.markerHere && !isMarked, sameBoot: to.sameBoot && !isTarget };
}

/** Calls that are under way land or do not; a machine that is going down takes none. */
function ofCalls(state: State, index: number): Happening[] {
  const { call, late, phase } = machineAt(state, index);
  const happenings: Happening[] = [];
  if (call !== 0) {
    const without = withMachine(state, index, { call: 0 });
    happenings.push(['is spared a late call', without]);
    if (phase !== PHASE.stopping)
      happenings.push([`gets a late ${call === REBOOT ? 'reboot' : 'configuration'}`, landed(without, index, call)]);
  }
  if (late !== LATE.none) {
    const without = withMachine(state, index, { late: LATE.none });
    happenings.push(['is spared a late request', without]);
    happenings.push([`gets a late ${late === LATE.cordon ? 'cordon' : 'uncordon'}`, requested(without, index, late)]);
  }
  return happenings;
}

/** Somebody unplugs or reboots a machine, its etcd crashes, its disk is put back. */
function ofOthers(state: State, index: number, { disturbedAtOnce }: Shape): Happening[] {
  const { phase, byUs, config } = machineAt(state, index);
  if (state.foreign === 0 || phase === PHASE.down || state.machines.filter(isDisturbed).length >= disturbedAtOnce) {
    return [];
  }
  const less = lessForeign(state);
  // What we began and they end is ours until the machine is down.
  const off: Happening[] = [['loses power', down(less, index, { byUs: byUs && phase === PHASE.stopping })]];
  if (phase !== PHASE.stopping) {
    const gone = { phase: PHASE.stopping, byUs: false, pool: POOL.none, apiPool: POOL.none };
    off.push(['is rebooted by somebody', withMachine(less, index, gone)]);
  }
  if (phase === PHASE.serving)
    off.push(['loses its etcd', withMachine(less, index, { phase: PHASE.etcdDown, pool: POOL.none })]);
  const fewer = { ...less, restores: state.restores - 1 };
  for (let older = 0; state.restores > 0 && older < config; older += 1) {
    const disk = { byUs: false, config: older, restored: true };
    off.push([`loses power, and gets back its disk of ${CONFIGURATIONS[older]}`, down(fewer, index, disk)]);
  }
  return off;
}

/** Whether somebody else has a machine away, or it has not recovered from that. */
function isDisturbed({ phase, byUs, restored }: Machine): boolean {
  return restored || (!byUs && phase !== PHASE.serving && phase !== PHASE.due);
}

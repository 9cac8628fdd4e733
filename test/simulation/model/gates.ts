import { configOf, type Machine, PHASE, POOL, type State } from './state.ts';

/** Whether the Talos API of a machine answers. */
export function isKnown({ phase }: Machine): boolean {
  return phase !== PHASE.down;
}

/** Whether everything on it runs, as far as anybody can tell: one that is about to go down looks well. */
export function looksWell({ phase }: Machine): boolean {
  return phase === PHASE.serving || phase === PHASE.due || phase === PHASE.stopping;
}

/** Whether its etcd takes connections. */
export function runsEtcd({ pool }: Machine): boolean {
  return pool !== POOL.none;
}

/** Whether new connections between two members come about in both directions. */
export function shakeHands(a: Machine, b: Machine): boolean {
  return trusts(a.pool, leafOf(b)) && trusts(b.pool, leafOf(a));
}

/** Who signed the leaf that etcd and the API server's etcd client show: read anew at every handshake. */
export function leafOf({ took }: Machine): 'old' | 'new' {
  return took >= 2 ? 'new' : 'old';
}

/** Whether a pool accepts a leaf. */
export function trusts(pool: Machine['pool'], leaf: 'old' | 'new'): boolean {
  return pool === POOL.both || pool === (leaf === 'old' ? POOL.old : POOL.new);
}

/** The gate of every change: each machine answers and is well, and the members of etcd understand each other. */
export function isWhole({ machines }: State, leftOut?: (machine: Machine) => boolean): boolean {
  if (!machines.every(isKnown)) return false;
  const asked = leftOut === undefined ? machines : machines.filter((machine) => !leftOut(machine));
  if (!asked.every(looksWell)) return false;
  const members = asked.filter(runsEtcd);
  return members.every((a, at) => members.every((b, other) => other <= at || shakeHands(a, b)));
}

/**
 * Whether every machine's certificates are those of the stage; of one that went
 * back to an earlier stage that is not asked: it gets them with the next pass.
 */
export function isLoaded(state: State, options: { readonly isBehindAsked: boolean }): boolean {
  const wanted = configOf(state.stage);
  return state.machines.every(({ took, config }) => (config < wanted ? !options.isBehindAsked : took >= wanted));
}

/** How many stages a machine is behind the rotation. */
export function stagesBehind(state: State, { config }: Machine): number {
  return configOf(state.stage) - config;
}

/** Whether it runs with what it was told, all of it. */
export function isProved({ config, took, phase }: Machine): boolean {
  return config === took && (phase === PHASE.serving || phase === PHASE.stopping);
}

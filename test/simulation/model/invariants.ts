import { leafOf, looksWell, runsEtcd, shakeHands, trusts } from './gates.ts';
import {
  CORDON,
  configOf,
  DOING,
  type Machine,
  machineAt,
  NOBODY,
  NOTE,
  PHASE,
  POOL,
  REBOOT,
  STAGE,
  STEP,
  type State,
} from './state.ts';
import type { Step } from './step.ts';

/** What is wrong with a state, or undefined; the numbers are those of the properties that a run is held to. */
export function brokenIn(state: State): string | undefined {
  return oneAway(state) ?? trustOverlap(state) ?? keysStored(state) ?? callsNoted(state);
}

/** What is wrong with a step, or undefined: what must be so when something is decided, sent or lands. */
export function brokenBy(from: State, step: Step): string | undefined {
  return decidedWell(from, step.to) ?? rebootedWell(from, step.to) ?? neverBack(from, step);
}

/** S3, S11: at most one machine is away because of us, and where nobody else disturbs any, the others keep quorum. */
function oneAway({ machines, marker }: State): string | undefined {
  const away = machines.filter(({ phase, byUs }) => byUs && phase !== PHASE.serving && phase !== PHASE.due);
  if (away.length > 1) return `S3 quorum: ${away.length} machines are away because of us`;
  const rebooting = machines.findIndex(({ phase, byUs }) => byUs && (phase === PHASE.stopping || phase === PHASE.down));
  if (rebooting >= 0 && marker !== rebooting)
    return 'S11 one gate: a machine reboots for us and the marker does not name it';
  if (machines.some(({ phase, byUs, restored }) => restored || (!byUs && phase !== PHASE.serving))) return undefined;
  const serving = machines.filter((machine) => runsEtcd(machine)).length;
  return serving >= quorumOf(machines.length) || machines.length < 3
    ? undefined
    : `S3 quorum: ${serving} of ${machines.length} members of etcd run`;
}

function quorumOf(members: number): number {
  return Math.floor(members / 2) + 1;
}

/** S1, S5: whoever has to verify something would, over a new connection, at this instant. */
function trustOverlap({ machines }: State): string | undefined {
  const sound = machines.filter(({ restored }) => !restored);
  const members = sound.filter(runsEtcd);
  for (const a of members) {
    for (const b of members) {
      if (a !== b && !shakeHands(a, b)) return 'S1 trust: two members of etcd refuse each other';
    }
  }
  for (const a of sound) {
    if (runsEtcd(a) && !trusts(a.pool, leafOf(a))) return 'S1 trust: etcd refuses the API server of its own machine';
    if (a.apiPool !== POOL.none && !trusts(a.apiPool, leafOf(a))) return 'S1 trust: an API server refuses its etcd';
    if (a.took === 3 && sound.some((b) => leafOf(b) === 'old'))
      return 'S5 early drop: a machine shows a leaf of the dropped CA';
  }
  return undefined;
}

/** S4: no machine is told of a CA whose key is stored nowhere. */
function keysStored({ machines, stored, replaced }: State): string | undefined {
  const isTold = machines.some(({ config, call }) => config > 0 || (call > 0 && call < REBOOT));
  return isTold && !stored && !replaced ? 'S4 keys: a machine trusts a CA whose key is stored nowhere' : undefined;
}

/** S12: whoever takes over knows of every call that may still land. */
function callsNoted({ machines }: State): string | undefined {
  const unknown = machines.some(({ call, note }) => call !== 0 && note === NOTE.none);
  return unknown ? 'S12 quiescence: a call is under way that nobody has a note of' : undefined;
}

/** What must be so when the program decides; it is asked of the world, not of what the program asked. */
function decidedWell(from: State, { doing, target, step }: State): string | undefined {
  if (from.doing !== DOING.nothing || step !== STEP.decided) return undefined;
  switch (doing) {
    case DOING.reboot:
      return othersServe(from, target) ?? prepared(machineAt(from, target));
    case DOING.retry:
      return othersServe(from, target);
    case DOING.back:
      return backAgain(from, machineAt(from, target));
    case DOING.enter:
      return from.stage === STAGE.Finalizing ? finished(from) : reached(from);
    default:
      return undefined;
  }
}

/** S3: only what the others keep quorum without is rebooted; a machine that somebody is about to take down looks well. */
function othersServe({ machines }: State, target: number): string | undefined {
  const others = machines.filter((_, at) => at !== target);
  const serving = others.filter(
    ({ phase, byUs }) => phase === PHASE.serving || phase === PHASE.due || (phase === PHASE.stopping && !byUs),
  );
  return serving.length === others.length
    ? undefined
    : `S3 quorum: a reboot is decided on while ${others.length - serving.length} others do not serve`;
}

function prepared({ cordon }: Machine): string | undefined {
  if (cordon === CORDON.open) return 'S11 one gate: a machine is rebooted and was not cordoned';
  return cordon === CORDON.drained ? undefined : 'S11 one gate: a machine is rebooted while pods run on it';
}

/** S11: the marker goes from a machine that serves again, or that has to be told anew; nothing of ours is under way to it. */
function backAgain({ stage }: State, machine: Machine): string | undefined {
  if (machine.call !== 0) return 'S11 one gate: the marker goes while a call is under way';
  if (machine.config < configOf(stage)) return undefined;
  return looksWell(machine) ? undefined : 'S11 one gate: the marker goes before the machine serves';
}

/** S9, S10: a stage is left only where every machine runs with what it brings. */
function reached({ stage, machines }: State): string | undefined {
  const wanted = configOf(stage);
  const behind = machines.some(({ config, took }) => config < wanted || took < wanted);
  if (behind) return 'S10 complete: a stage is left before every machine is there';
  const isUnread = wanted === 1 && machines.some(({ pool, apiPool }) => pool === POOL.old || apiPool === POOL.old);
  return isUnread ? 'S9 evidence: a stage is left before every process has read whom to trust' : undefined;
}

/** S24: done means done. */
function finished({ machines, marker, draining }: State): string | undefined {
  if (marker !== NOBODY || draining !== NOBODY) return 'S24 truthful: done, and a machine is still being rebooted';
  if (machines.some(({ cordon }) => cordon !== CORDON.open))
    return 'S24 truthful: done, and a machine is still cordoned';
  const holdsOld = (pool: Machine['pool']): boolean => pool === POOL.both || pool === POOL.old;
  const isLeft = machines.some(({ took, pool, apiPool }) => took < 3 || holdsOld(pool) || holdsOld(apiPool));
  return isLeft ? 'S24 truthful: done, and the old CA is still trusted somewhere' : undefined;
}

/** S11: a reboot of ours takes a machine down only out of the boot that the marker names. */
function rebootedWell(from: State, to: State): string | undefined {
  const rebooted = to.machines.findIndex(
    ({ phase, byUs }, index) => phase === PHASE.stopping && byUs && machineAt(from, index).phase !== PHASE.stopping,
  );
  if (rebooted < 0 || (to.marker === rebooted && to.markerHere)) return undefined;
  return 'S11 one gate: a reboot lands without its marker';
}

/** S8: no configuration of ours is older than the one before; only an old disk is. */
function neverBack(from: State, { to }: Step): string | undefined {
  for (const [index, { config, restored }] of to.machines.entries()) {
    if (config < machineAt(from, index).config && !restored)
      return 'S8 monotone: a machine goes back to an earlier stage';
  }
  return to.stage < from.stage ? 'S8 monotone: the rotation goes back to an earlier stage' : undefined;
}

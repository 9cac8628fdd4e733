import { isAtLeast, rotationAbandonable } from '../../api/v1alpha1/index.ts';
import { anyTarget, type Context, firstBlocker, isKnown, type KnownMachine, waitedSince } from './context.ts';
import { type Blocker, blockedBy, type Decision, waitFor } from './decision.ts';
import { readmit } from './evacuation.ts';
import { everyMachineKnown } from './gates/every-machine-known.ts';
import { TAKING_BACK } from './gates/index.ts';
import { sinceLastChange } from './hold.ts';
import { CONFIG_STAGES, configStageOf, type MachineObservation } from './observation.ts';
import { remember } from './pass.ts';
import { apiServerUnclear } from './proof.ts';
import { mayStillLand } from './quiescence.ts';
import { conditionOf } from './stages/condition.ts';

/**
 * A deleted rotation is abandoned while it can be: the new certificate
 * authorities are taken back from the machines, then the record goes. Past the
 * point of no return that is said once, and the rotation goes on.
 */
export function abandoned(context: Context): Decision | undefined {
  const { operation } = context.observation;
  if (operation.metadata.deletionTimestamp === undefined) return undefined;
  const names = context.targets.map((target) => target.name);
  const { abandonable, why } = rotationAbandonable(context.stage, names);
  if (!abandonable) return held(context, why);
  const { adoptedFrom } = context.observation.store;
  if (context.stage === 'Pending' && adoptedFrom !== undefined) return leaveToOthers(adoptedFrom);
  const late = context.status.inFlight.find((call) => mayStillLand(context, call));
  if (late !== undefined) {
    const message = `the reply of ${late.machine} to ${late.call} was lost`;
    // Time alone ends it: not even another boot does.
    return waitFor({ reason: 'NotQuiescent', message, machines: [] });
  }
  return takeBack(context) ?? readmit(context) ?? letGo(context, why);
}

/**
 * Before it has gone on with another operation's record it has told nobody anything: what that
 * one did is not its to take back, and a record that may hold the only keys of machines is not its to remove.
 */
function leaveToOthers(owner: string): Decision {
  return {
    kind: 'act',
    effect: { kind: 'abandon', uncordon: [], keepsRecord: true },
    reason: 'Abandoning',
    message: `abandoned in Pending: the record and everything on the machines is of operation ${owner}, and stays`,
  };
}

/** Says once that a deletion is held, and goes on. */
function held(context: Context, why: string): Decision | undefined {
  if (conditionOf(context, 'DeletionHeld')?.status === 'True') return undefined;
  const message = `in ${context.stage} it is too late to go back: ${why}`;
  return {
    kind: 'act',
    effect: { kind: 'update-status' },
    reason: 'PastPointOfNoReturn',
    message,
    conditions: [{ type: 'DeletionHeld', status: 'True', reason: 'PastPointOfNoReturn', message }],
  };
}

/**
 * Takes the new certificate authorities back, one machine at a time and one
 * stage at a time: nothing is trusted any more whose key is about to go. What is
 * in the way is waited for a while; a machine that cannot be asked keeps the
 * extra trust, and the message of the end names it.
 */
function takeBack(context: Context): Decision | undefined {
  // Without the record nobody knows what was new; a crash after its removal ends here.
  if (context.observation.store.material === undefined) return undefined;
  const restarting = context.observation.machines.find((machine) => isRestarting(context, machine));
  if (restarting !== undefined) {
    const message = `${restarting.name}: waiting for its kube-apiserver to come back with the old certificate authorities`;
    return patiently(context, { reason: 'Reverting', message, machines: [restarting.name] });
  }
  const machine = furthest(context);
  if (machine === undefined) {
    // Whoever is not seen may stand anywhere; an empty list is no cluster without machines.
    const left = stillTrusting(context)?.blocker ?? everyMachineKnown(context);
    return left === undefined ? undefined : patiently(context, left);
  }
  const to = standsAt(context, machine) === 'Accepting' ? 'Before' : 'Accepting';
  const blocker =
    goingDown(context) ??
    firstBlocker(TAKING_BACK, context) ??
    (to === 'Before' ? stillIssuing(context) : undefined) ??
    apiServerUnclear(context, machine);
  if (blocker !== undefined) {
    return patiently(context, { ...blocker, message: `taking the new CAs back: ${blocker.message}` });
  }
  return {
    kind: 'act',
    effect: { kind: 'revert-config', machine: machine.name, to },
    reason: 'Reverting',
    message: `${machine.name}: taking the new certificate authorities back`,
    mark: { applied: remember({ ...context, stage: STAGE_OF[to] }, context.status.applied, machine) },
  };
}

/**
 * Waits for what is in the way, for a while. After that the rotation is let go
 * all the same, so that a machine that does not answer holds nobody for ever; except
 * while one that answers trusts a new CA, or any may issue with one: the only copies
 * of that CA are the record and the credentials made of it.
 */
function patiently(context: Context, blocker: Blocker): Decision | undefined {
  if (isPatient(context)) return waitFor(blocker);
  const why = whyKept(context);
  if (why === undefined) return undefined;
  return blockedBy({ ...blocker, message: `${blocker.message}; the new keys are kept, because ${why}` });
}

/** Why the new keys may not go. Without them nobody who holds the old CA reaches a machine that issues with a new one. */
function whyKept(context: Context): string | undefined {
  if (mayIssue(context)) return 'a machine may still issue with them';
  const trusting = furthest(context) ?? stillTrusting(context)?.machine;
  return trusting === undefined ? undefined : `${trusting.name} still trusts their CA`;
}

/** Whether a machine issues with a new CA, or may: what cannot be asked was told to at most where the stage says so. */
function mayIssue(context: Context): boolean {
  const known = context.observation.machines.filter(isKnown);
  if (known.some((machine) => CONFIG_STAGES.indexOf(standsAt(context, machine)) >= ISSUING)) return true;
  return stillIssuing(context) !== undefined;
}

const ISSUING = CONFIG_STAGES.indexOf('Issuing');

/** Whether what is in the way is still waited for: so long after the deletion, or after the last machine that was told. */
function isPatient(context: Context): boolean {
  const sinceDeletion = waitedSince(context, context.observation.operation.metadata.deletionTimestamp);
  return Math.min(sinceDeletion, sinceLastChange(context)) < context.settings.abandonPatienceMs;
}

/**
 * A control plane that was asked to reboot and is still up: a moment later it is not, and nobody else's kube-apiserver
 * restarts then. One that has not gone down in all the time after which it would be asked again was not heard.
 */
function goingDown(context: Context): Blocker | undefined {
  const { etcdRebooting, etcdRebootBootID, etcdRestartedAt } = context.status;
  const machine = context.observation.machines.find(({ name }) => name === etcdRebooting);
  if (machine === undefined || !isKnown(machine) || machine.talos.value.bootId !== etcdRebootBootID) return undefined;
  if (waitedSince(context, etcdRestartedAt) >= context.settings.rebootRetryMs) return undefined;
  const message = `${machine.name} was asked to reboot and is still in boot ${etcdRebootBootID}`;
  return { reason: 'RebootingEtcd', message };
}

/**
 * A machine that still shows a certificate of a new CA, or that may have been told to
 * issue with it and cannot be asked: nobody stops trusting the new ones before. What a
 * worker accepts meanwhile is what the control plane gave it that it asked last.
 */
function stillIssuing(context: Context): Blocker | undefined {
  for (const machine of context.observation.machines.filter(isKnown)) {
    for (const target of context.targets) {
      const issuer = context.material[target.name]?.new.fingerprint;
      if (issuer === undefined || !target.shown(machine.talos.value.pki).includes(issuer)) continue;
      const message = `${machine.name} still shows a certificate of the new ${target.title}`;
      return { reason: 'Reverting', message, machines: [machine.name] };
    }
  }
  return isAtLeast(context.stage, 'Issuing') ? everyMachineKnown(context) : undefined;
}

/**
 * A machine whose configuration is back and whose resources are not yet: the key
 * of a CA is not let go while anybody trusts it. Back at the beginning is where
 * the opposite rotation ends.
 */
function stillTrusting(context: Context): { readonly machine: KnownMachine; readonly blocker: Blocker } | undefined {
  for (const machine of context.observation.machines.filter(isKnown)) {
    for (const target of context.targets.filter((each) => each.concerns === 'all' || machine.role === 'controlplane')) {
      const material = context.material[target.name];
      if (material === undefined) continue;
      const { pki } = machine.talos.value;
      const opposite = { old: material.new, new: material.old };
      const found = target.prove({ pki, role: machine.role, stage: 'Dropping', material: opposite });
      if (found === undefined) continue;
      const message = `${machine.name}: ${found}`;
      return { machine, blocker: { reason: 'Reverting', message, machines: [machine.name] } };
    }
  }
  return undefined;
}

/** The machine that stands furthest on; control planes first among equals. */
function furthest(context: Context): KnownMachine | undefined {
  const known = context.observation.machines.filter(isKnown);
  const stageOf = (machine: KnownMachine) => CONFIG_STAGES.indexOf(standsAt(context, machine));
  const most = Math.max(0, ...known.map(stageOf));
  return most === 0 ? undefined : known.find((machine) => stageOf(machine) === most);
}

/** How far the machine is in any target. */
function standsAt(context: Context, machine: KnownMachine): (typeof CONFIG_STAGES)[number] {
  const stages = context.targets.map((target) => machine.talos.value.standing[target.name].stage);
  return [...CONFIG_STAGES].reverse().find((stage) => stages.includes(stage)) ?? 'Before';
}

/** The stage under which a machine that goes back is remembered. */
const STAGE_OF = { Before: 'Pending', Accepting: 'Accepting' } as const;

/** It has what it was told, and its kube-apiserver has not been seen to restart; one that refused it will not restart. */
function isRestarting(context: Context, machine: MachineObservation): boolean {
  if (machine.role === 'worker' || !anyTarget(context, (target) => target.restartsApiServer)) return false;
  const told = context.status.applied.find((each) => each.machine === machine.name);
  if (told === undefined || !isKnown(machine) || told.bootID !== machine.talos.value.bootId) return false;
  if (configStageOf(told.stage) !== standsAt(context, machine)) return false;
  const isReady = machine.apiServer?.known === true && machine.apiServer.value.ready;
  const { apiServers = [] } = machine.talos.value;
  return !isReady || (told.apiServerInstance !== undefined && apiServers.includes(told.apiServerInstance));
}

function letGo(context: Context, why: string): Decision {
  const { machines, machinesIncomplete } = context.observation;
  const cordoned = machines.filter((machine) => machine.node.known && machine.node.value?.cordonedByUs === true);
  const { etcdRebooting, etcdDraining } = context.status;
  const names = new Set([...cordoned.map((machine) => machine.name), etcdRebooting, etcdDraining]);
  // All that answer are back: nobody is let go while one that does stands anywhere else.
  const keeping = machines.filter((machine) => !isKnown(machine));
  const unlisted = machinesIncomplete === undefined ? [] : ['machines that could not be listed'];
  const kept =
    context.observation.store.material === undefined ? [] : [...keeping.map((machine) => machine.name), ...unlisted];
  return {
    kind: 'act',
    effect: { kind: 'abandon', uncordon: [...names].filter((name) => name !== undefined).sort() },
    reason: 'Abandoning',
    message: `abandoned in ${context.stage}: ${why}${kept.length === 0 ? '' : `; ${kept.join(', ')} may still trust the new ones`}`,
  };
}

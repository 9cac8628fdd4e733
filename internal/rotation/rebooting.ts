import { isBehind, withoutLeftBehind } from './behind.ts';
import { type Context, elapsedSince, firstBlocker, isKnown, type KnownMachine, timestamp } from './context.ts';
import { type Blocker, blockedBy, type Decision, type StatusPatch, waitFor } from './decision.ts';
import { readmit } from './evacuation.ts';
import { whyUnknown } from './gates/every-machine-known.ts';
import { AFTER_REBOOT, BEFORE_REBOOT } from './gates/index.ts';
import { hold, passesByItself } from './hold.ts';

/** What the marker leaves when the machine is back. */
const MARKER_GONE: StatusPatch = {
  etcdRebooting: undefined,
  etcdRebootBootID: undefined,
  etcdRebootSince: undefined,
  etcdDraining: undefined,
  drainStartedAt: undefined,
  drainTriedAt: undefined,
  etcdForfeited: undefined,
};

/**
 * While a control plane reboots, nothing else is done: wait for another boot,
 * then for the whole gate, then let storage and pods back and count it. A boot that does not
 * change is asked for again; a machine that does not come back stops the roll.
 */
export function rebooting(context: Context): Decision | undefined {
  const name = context.status.etcdRebooting;
  if (name === undefined) return undefined;
  const machine = context.observation.machines.find((each) => each.name === name);
  if (machine === undefined && context.observation.machinesIncomplete === undefined) return left(name);
  if (machine === undefined || !isKnown(machine)) return away(context, name, machine && whyUnknown(machine));
  return machine.talos.value.bootId === context.status.etcdRebootBootID
    ? sameBoot(context, machine)
    : back(context, machine);
}

/** Whether the twenty minutes are over; a marker of an older Ichor has only the time of the request. */
function isOverdue(context: Context): boolean {
  const { etcdRebootSince, etcdRestartedAt } = context.status;
  return elapsedSince(context, etcdRebootSince ?? etcdRestartedAt) > context.settings.rebootDeadlineMs;
}

/** Kubernetes has no Node for it and the list is complete: somebody removed it, and the stage is asked again of the others. */
function left(name: string): Decision {
  return {
    kind: 'act',
    effect: { kind: 'update-status' },
    reason: 'RebootingEtcd',
    message: `${name} was rebooting and is no longer part of the cluster`,
    mark: { ...MARKER_GONE, evacuation: undefined },
  };
}

function away(context: Context, name: string, why: Blocker | undefined): Decision {
  // It answers, so it is up: a machine that shows an unknown certificate, or has lost its configuration, is not rebooting.
  if (why !== undefined && why.reason !== 'MachineUnknown') return hold(context, why);
  const message = `${name} is rebooting: ${why?.message ?? 'it is in no list of machines'}`;
  const minutes = Math.round(context.settings.rebootDeadlineMs / 60_000);
  return isOverdue(context)
    ? blockedBy({ reason: 'RebootOverdue', message: `${message}; expected it back within ${minutes} minutes` })
    : waitFor({ reason: 'RebootingEtcd', message, ...(why?.machines && { machines: why.machines }) });
}

/** Whoever was away for the twenty minutes, after the marker and before the call, has not asked at all. */
function wasAskedAgain({ status }: Context): boolean {
  return status.etcdRebootSince === undefined || status.etcdRestartedAt !== status.etcdRebootSince;
}

/** Asks again for a reboot that did not happen, behind the same gates as the first time. */
function sameBoot(context: Context, machine: KnownMachine): Decision {
  const message = `${machine.name} still reports boot ${context.status.etcdRebootBootID}`;
  if (isOverdue(context) && wasAskedAgain(context)) {
    return blockedBy({ reason: 'RebootOverdue', message: `${message}; expected another one` });
  }
  if (elapsedSince(context, context.status.etcdRestartedAt) < context.settings.rebootRetryMs) {
    // Asked of everybody, over new connections: one that was there goes silent with the machine, for a whole deadline.
    return waitFor({ reason: 'RebootingEtcd', message });
  }
  if (context.observation.operation.spec.paused) {
    return waitFor({ reason: 'PausedByUser', message: `paused; ${message}` }, 5_000);
  }
  const asked: Context = { ...context, rebooted: machine.name };
  const blocker = firstBlocker(BEFORE_REBOOT, asked);
  if (blocker !== undefined) {
    const found = `${message}; ${blocker.message}`;
    const isForOthersAlone = firstBlocker(BEFORE_REBOOT, withoutLeftBehind(asked)) === undefined;
    return isForOthersAlone ? takenBack(found) : hold(context, { reason: blocker.reason, message: found });
  }
  return {
    kind: 'act',
    effect: { kind: 'reboot', machine: machine.name },
    reason: 'RebootingEtcd',
    message: `${message}; asking again`,
    mark: { etcdRestartedAt: timestamp(context) },
  };
}

/**
 * Whoever was left behind meanwhile is not well before it is told, and nobody is
 * told while a reboot is marked. This one was not heard in all the time that it
 * had, so it is taken back, and asked for anew by the roll when everybody is told.
 */
function takenBack(found: string): Decision {
  return {
    kind: 'act',
    effect: { kind: 'update-status' },
    reason: 'RebootingEtcd',
    message: `${found}; that machine is told first, then the reboot is asked for anew`,
    mark: MARKER_GONE,
  };
}

/** What is in the way is said of the machine that reboots as well, so it follows from the readings of both. */
function withRebooted({ name }: KnownMachine, blocker: Blocker): Blocker {
  const { machines } = blocker;
  return machines === undefined || machines.includes(name) ? blocker : { ...blocker, machines: [name, ...machines] };
}

function back(context: Context, machine: KnownMachine): Decision {
  const node = machine.node.known ? machine.node.value : undefined;
  const uncordon = node?.cordonedByUs === true;
  const effect = uncordon
    ? ({ kind: 'uncordon', machine: machine.name } as const)
    : ({ kind: 'update-status' } as const);
  if (isBehind(context, machine)) {
    // It came back on an older configuration: the pass gives it the stage's again, and the next reboot is measured from this boot.
    return (
      readmit(context) ?? {
        kind: 'act',
        effect,
        reason: 'RebootingEtcd',
        message: `${machine.name} came back with the configuration of an earlier stage; it is told and rebooted again`,
        after: { ...MARKER_GONE, evacuation: undefined },
      }
    );
  }
  // A machine that was left behind is told by the pass, which comes after the marker: waiting for it here would be waiting for ever.
  const blocker = firstBlocker(AFTER_REBOOT, withoutLeftBehind(context));
  if (blocker !== undefined) {
    const message = `${machine.name} is back; ${blocker.message}`;
    return isOverdue(context) || !passesByItself(blocker)
      ? blockedBy({ reason: blocker.reason, message })
      : waitFor(withRebooted(machine, { ...blocker, reason: 'RebootingEtcd', message }));
  }
  // Storage first: pods that are let back may ask for it at once.
  const storage = readmit(context);
  if (storage !== undefined) return storage;
  return {
    kind: 'act',
    effect,
    reason: 'RebootingEtcd',
    message: `${machine.name} is back in another boot and etcd is whole`,
    after: {
      ...MARKER_GONE,
      evacuation: undefined,
      etcdRestarted: [...context.status.etcdRestarted.filter((each) => each !== machine.name), machine.name],
    },
  };
}

import { type Context, elapsedSince, firstBlocker, isKnown, type KnownMachine, timestamp } from './context.ts';
import { blockedBy, type Decision, type StatusPatch, waitFor } from './decision.ts';
import { BEFORE_REBOOT } from './gates/index.ts';
import { isBehind } from './pass.ts';

/** What the marker leaves when the machine is back. */
const MARKER_GONE: StatusPatch = {
  etcdRebooting: undefined,
  etcdRebootBootID: undefined,
  etcdRebootSince: undefined,
  etcdDraining: undefined,
  drainStartedAt: undefined,
  etcdForfeited: undefined,
};

/**
 * While a control plane reboots, nothing else is done: wait for another boot,
 * then for the whole gate, then let pods back and count it. A boot that does not
 * change is asked for again; a machine that does not come back stops the roll.
 */
export function rebooting(context: Context): Decision | undefined {
  const name = context.status.etcdRebooting;
  if (name === undefined) return undefined;
  const machine = context.observation.machines.find((each) => each.name === name);
  const overdue = elapsedSince(context, context.status.etcdRebootSince) > context.settings.rebootDeadlineMs;
  const minutes = Math.round(context.settings.rebootDeadlineMs / 60_000);
  if (machine === undefined || !isKnown(machine)) {
    const found =
      machine === undefined ? 'it is in no list of machines' : machine.talos.known ? '' : machine.talos.message;
    const message = `${name} is rebooting: ${found}`;
    return overdue
      ? blockedBy({ reason: 'RebootOverdue', message: `${message}; expected it back within ${minutes} minutes` })
      : waitFor({ reason: 'RebootingEtcd', message });
  }
  if (machine.talos.value.bootId === context.status.etcdRebootBootID) return sameBoot(context, machine, overdue);
  return back(context, machine, overdue);
}

function sameBoot(context: Context, machine: KnownMachine, overdue: boolean): Decision {
  const message = `${machine.name} still reports boot ${context.status.etcdRebootBootID}`;
  if (overdue) return blockedBy({ reason: 'RebootOverdue', message: `${message}; expected another one` });
  if (elapsedSince(context, context.status.etcdRestartedAt) < context.settings.rebootRetryMs) {
    return waitFor({ reason: 'RebootingEtcd', message });
  }
  return {
    kind: 'act',
    effect: { kind: 'reboot', machine: machine.name },
    reason: 'RebootingEtcd',
    message: `${message}; asking again`,
    mark: { etcdRestartedAt: timestamp(context) },
  };
}

function back(context: Context, machine: KnownMachine, overdue: boolean): Decision {
  const node = machine.node.known ? machine.node.value : undefined;
  const uncordon = node?.cordonedByUs === true;
  const effect = uncordon
    ? ({ kind: 'uncordon', machine: machine.name } as const)
    : ({ kind: 'update-status' } as const);
  if (isBehind(context, machine)) {
    // It came back on an older configuration: the pass gives it the stage's again, and the next reboot is measured from this boot.
    return {
      kind: 'act',
      effect,
      reason: 'RebootingEtcd',
      message: `${machine.name} came back with the configuration of an earlier stage; it is told and rebooted again`,
      after: MARKER_GONE,
    };
  }
  const blocker = firstBlocker(BEFORE_REBOOT, context);
  if (blocker !== undefined) {
    const message = `${machine.name} is back; ${blocker.message}`;
    return overdue ? blockedBy({ reason: blocker.reason, message }) : waitFor({ reason: 'RebootingEtcd', message });
  }
  return {
    kind: 'act',
    effect,
    reason: 'RebootingEtcd',
    message: `${machine.name} is back in another boot and etcd is whole`,
    after: {
      ...MARKER_GONE,
      etcdRestarted: [...context.status.etcdRestarted.filter((each) => each !== machine.name), machine.name],
    },
  };
}

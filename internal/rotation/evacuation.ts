import type { EvacuationStatus } from '../../api/v1alpha1/index.ts';
import { type Context, elapsedSince, timestamp } from './context.ts';
import { BLOCKED_RECHECK_MS, type Blocker, blockedBy, type Decision, waitOut } from './decision.ts';
import { hold } from './hold.ts';

/** How soon a hook that is at work is asked again. */
const HOOK_RETRY_MS = 5_000;

type Call = EvacuationStatus['call'];

const REASONS = { evacuate: 'EvacuatingStorage', readmit: 'ReadmittingStorage' } as const;

/**
 * Asks the evacuation hook until what the machine stores is away; that of one machine at
 * a time is. `undefined` where it is away, or nobody set a hook.
 */
export function evacuate(context: Context, machine: string): Decision | undefined {
  const isOther = context.status.evacuation !== undefined && context.status.evacuation.machine !== machine;
  return (isOther ? readmit(context) : undefined) ?? ask(context, machine, 'evacuate');
}

/** Asks the hook until the storage of whoever was evacuated is back; `undefined` where it is, or nobody's is to come back. */
export function readmit(context: Context): Decision | undefined {
  const { machines, machinesIncomplete } = context.observation;
  const { evacuation } = context.status;
  if (evacuation === undefined) return undefined;
  const { machine } = evacuation;
  if (machines.some(({ name }) => name === machine)) return ask(context, machine, 'readmit');
  // Who has left the cluster stores nothing for it any more.
  if (machinesIncomplete === undefined) return undefined;
  const message = `the storage of ${machine} is to be let back, and it is in no list of machines: ${machinesIncomplete}`;
  return hold(context, { reason: 'MachineListIncomplete', message });
}

/**
 * What another process heard is not relied on, because nobody knows what has become of that storage since: each process
 * asks for itself. What was heard last is in the message all the same.
 */
function ask(context: Context, machine: string, call: Call): Decision | undefined {
  const { observation, settings, status } = context;
  const { evacuationHook } = observation.operation.spec;
  if (evacuationHook === undefined) return undefined;
  const known = status.evacuation;
  const asked: EvacuationStatus =
    known?.machine === machine && known.call === call ? known : { machine, call, since: timestamp(context) };
  const { answer } = asked;
  const isHeard = answer !== undefined && Date.parse(answer.at) > observation.watchedSince;
  if (isHeard && answer.outcome === 'Done') return undefined;
  const isLate = elapsedSince(context, asked.since) > settings.evacuationDeadlineMs;
  const needsSomebody = answer?.outcome === 'Refused' || isLate;
  const blocker = blockerOf(asked, `${evacuationHook} ${call}`, isLate);
  const pauseMs = needsSomebody ? BLOCKED_RECHECK_MS : HOOK_RETRY_MS;
  const leftMs = isHeard ? pauseMs - elapsedSince(context, answer.at) : 0;
  if (leftMs > 0) return needsSomebody ? blockedBy(blocker) : waitOut(blocker, leftMs);
  return {
    kind: 'act',
    effect: { kind: call, machine },
    ...blocker,
    // From here on it is owed to this machine that its storage is let back, whatever the hook answers.
    mark: { ...(call === 'evacuate' ? { etcdDraining: machine } : {}), evacuation: asked },
  };
}

function blockerOf({ machine, call, answer }: EvacuationStatus, asked: string, isLate: boolean): Blocker {
  if (answer?.outcome === 'Refused') {
    const message = `${machine}: ${asked} failed: ${answer.found}; expected 0, or 75 while it is at work`;
    return { reason: 'EvacuationHookRefused', message };
  }
  const reason = REASONS[call];
  if (answer?.outcome !== 'NotYet') return { reason, message: `${machine}: asking ${asked}` };
  const expected = isLate ? 'expected it to be done by now' : 'expected 0';
  return { reason, message: `${machine}: ${asked} is not done yet: ${answer.found}; ${expected}` };
}

import {
  adviceFor,
  CA_STAGES,
  type CaStage,
  type CaTarget,
  isAtLeast,
  type OperationStatus,
  type Reason,
  type TalosOperation,
} from '../../api/v1alpha1/index.ts';
import type { Decision, Effect } from './decision.ts';
import { STAGES } from './stages/index.ts';
import { descriptorsOf } from './targets/index.ts';

/** Where an operation stands and why, as data: the one account of a decision in words, which `ichor operation explain` lays out and prints. */
export interface Explanation {
  readonly operation: string;
  readonly stage: CaStage;
  readonly state: 'acting' | 'waiting' | 'blocked' | 'done';
  readonly reason: Reason;
  readonly message: string;
  /** What a person can do about it. */
  readonly advice: string;
  /** Whether nothing goes on before somebody does something. */
  readonly needsSomebody: boolean;
  /** Since when the operation has given this reason in this stage; absent where it is new. */
  readonly since?: string;
  /** What is sent, in words; absent where nothing is. */
  readonly effect?: string;
  /** When it is looked at again, milliseconds; absent where that is at once or never. */
  readonly recheckAfterMs?: number;
  /** The stages that come after this one, in order. */
  readonly next: readonly { readonly stage: CaStage; readonly summary: string }[];
  /** The last changes, oldest first. */
  readonly history: OperationStatus['history'];
}

/** Reasons that wait for a person although nothing is wrong. */
const FOR_SOMEBODY: ReadonlySet<Reason> = new Set<Reason>(['AwaitingCredentials', 'PausedByUser']);

/** Explains an operation by what was decided about it, or by its status alone where nobody looked just now. */
export function explain(operation: TalosOperation, decision?: Decision): Explanation {
  const { metadata, status } = operation;
  const { reason, message } = decision ?? said(operation);
  const state = decision === undefined ? stateOfStatus(status) : STATES[decision.kind];
  const since = sinceOf(status, reason);
  return {
    operation: metadata.name,
    stage: status.stage,
    state,
    reason,
    message,
    advice: adviceFor(reason),
    needsSomebody: state === 'blocked' || FOR_SOMEBODY.has(reason),
    ...(since === undefined ? {} : { since }),
    ...(decision?.kind === 'act' ? { effect: wordsFor(decision.effect) } : {}),
    ...(decision !== undefined && 'recheckAfterMs' in decision ? { recheckAfterMs: decision.recheckAfterMs } : {}),
    next: reason === 'Abandoning' || reason === 'Reverting' ? [] : nextOf(status),
    history: status.history,
  };
}

/** What the status says; a pause comes before it, as nothing looks at what is paused while no process runs it. */
function said({ spec, status }: TalosOperation): Pick<Explanation, 'reason' | 'message'> {
  if (!spec.paused || status.phase === 'Completed' || status.phase === 'Paused') return status;
  return { reason: 'PausedByUser', message: `paused; before, ${status.reason}: ${status.message}` };
}

const STATES = { act: 'acting', wait: 'waiting', blocked: 'blocked', done: 'done' } as const;

/** A paused operation is blocked unless somebody paused it. */
function stateOfStatus({ phase, reason }: OperationStatus): Explanation['state'] {
  if (phase === 'Completed') return 'done';
  return phase === 'Paused' && reason !== 'PausedByUser' ? 'blocked' : 'waiting';
}

/** The first of the last changes that all gave this reason in this stage. */
function sinceOf({ history, stage }: OperationStatus, reason: Reason): string | undefined {
  const others = history.findLastIndex((entry) => entry.reason !== reason || entry.stage !== stage);
  return history[others + 1]?.time;
}

function nextOf({ stage, caRotation }: OperationStatus): Explanation['next'] {
  const handOff = descriptorsOf(caRotation.targets).some((target) => target.handOff);
  return CA_STAGES.filter((name) => name !== 'Done')
    .filter((name) => name !== stage && isAtLeast(name, stage))
    .filter((name) => name !== 'AwaitingCredentials' || handOff || caRotation.targets.length === 0)
    .map((name) => ({ stage: name, summary: STAGES[name].summary }));
}

/** What an effect does, in words. */
export function wordsFor(effect: Effect): string {
  switch (effect.kind) {
    case 'write-record':
      return `make new certificate authorities for ${effect.targets.join(', ')} and store them`;
    case 'update-status':
      return 'write the status; nothing is sent to any machine';
    case 'enter-stage':
      return `enter ${effect.stage}`;
    case 'apply-config':
      return `give ${effect.machine} ${configurationOf(effect)}`;
    case 'apply-configs':
      return `give ${effect.machines.join(', ')} ${configurationOf(effect)}`;
    case 'revert-config':
      return `take the new certificate authorities back from ${effect.machine}`;
    case 'evacuate':
      return `ask the evacuation hook to move the storage of ${effect.machine} away`;
    case 'readmit':
      return `ask the evacuation hook to let the storage of ${effect.machine} back`;
    case 'cordon':
      return `cordon ${effect.machine}`;
    case 'drain':
      return `move pods off ${effect.machine}`;
    case 'forfeit-leadership':
      return `ask ${effect.machine} to give up the leadership of etcd`;
    case 'reboot':
      return `reboot ${effect.machine}`;
    case 'uncordon':
      return `uncordon ${effect.machine}`;
    case 'replace-bundle':
      return 'replace secrets.yaml';
    case 'reset-authentication':
      return 'delete extension-apiserver-authentication, so that the API servers write it anew';
    case 'restart-workload':
      return `restart ${effect.owner}`;
    case 'complete':
      return 'remove the rotation record and release the operation';
    case 'abandon':
      if (effect.keepsRecord) return 'release the operation; the rotation record is not its own';
      return effect.uncordon.length === 0
        ? 'remove the rotation record and release the operation'
        : `uncordon ${effect.uncordon.join(', ')}, remove the rotation record and release the operation`;
  }
}

function configurationOf({
  stage,
  targets,
}: {
  readonly stage: CaStage;
  readonly targets?: readonly CaTarget[];
}): string {
  return `the configuration of ${stage}${targets === undefined ? '' : ` for ${targets.join(', ')} alone`}`;
}

import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { CertificateAndKey } from '../../pkg/pki/index.ts';
import type { Effect } from '../rotation/decision.ts';
import { applyConfig, type Render, revertConfig } from './act-apply.ts';
import { askHook, type HookAnswer } from './act-evacuation.ts';
import { resetAuthentication, restartOwner } from './act-kubernetes.ts';
import { cordon, drain, forfeitLeadership, reboot, uncordon } from './act-roll.ts';
import { complete, replaceBundle, writeRecord } from './act-store.ts';
import { EffectRefusedError, outcomeOf } from './effect-error.ts';
import type { ListedMachine } from './machines.ts';
import type { Observed } from './observe.ts';
import type { OperationTime } from './operation-time.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';

/** Who acts, on which picture of the cluster. */
export interface Actor {
  readonly ports: Ports;
  readonly session: Session;
  readonly observed: Observed;
  /** Uid of the operation. */
  readonly owner: string;
  /** Until when a call that changes a machine may be under way, milliseconds since the epoch; noted before the effect. */
  readonly deadline: number;
  /** The clock that this deadline is measured with. */
  readonly time: OperationTime;
  readonly newCa: (target: CaTarget, now: number) => Promise<CertificateAndKey>;
  readonly render: Render;
}

/**
 * Does one effect. Resolves when it is done for certain, with what the evacuation hook answered where it was asked;
 * whatever it throws is classified by `outcomeOf`.
 */
export async function act(actor: Actor, effect: Effect): Promise<HookAnswer | undefined> {
  if (effect.kind === 'evacuate' || effect.kind === 'readmit')
    return askHook(actor, machineOf(actor, effect.machine), effect.kind);
  await change(actor, effect);
  return undefined;
}

async function change(actor: Actor, effect: Exclude<Effect, { readonly kind: 'evacuate' | 'readmit' }>): Promise<void> {
  switch (effect.kind) {
    case 'update-status':
    case 'enter-stage':
      // The status is all there is to it, and the report writes it.
      return;
    case 'write-record':
      return writeRecord(actor, effect.targets);
    case 'apply-config':
      return applyConfig(actor, machineOf(actor, effect.machine), effect);
    case 'apply-configs':
      return applyAll(actor, effect);
    case 'revert-config':
      return revertConfig(actor, machineOf(actor, effect.machine), effect.to);
    case 'cordon':
      return cordon(actor, machineOf(actor, effect.machine));
    case 'drain':
      return drain(actor, machineOf(actor, effect.machine));
    case 'forfeit-leadership':
      return forfeitLeadership(actor, machineOf(actor, effect.machine));
    case 'reboot':
      return reboot(actor, machineOf(actor, effect.machine));
    case 'uncordon':
      return uncordon(actor, machineOf(actor, effect.machine));
    case 'replace-bundle':
      return replaceBundle(actor);
    case 'reset-authentication':
      return resetAuthentication(actor, effect.uid);
    case 'restart-workload':
      return restartOwner(actor, effect.owner);
    case 'complete':
      return complete(actor);
    case 'abandon':
      return abandon(actor, effect);
  }
}

/** Machine that an effect is sent to, for messages and for the in-flight note; absent where it is none. */
export function machineNameOf(effect: Effect): string | undefined {
  return 'machine' in effect ? effect.machine : undefined;
}

async function applyAll(actor: Actor, effect: Extract<Effect, { kind: 'apply-configs' }>): Promise<void> {
  const results = await Promise.allSettled(
    effect.machines.map((name) => applyConfig(actor, machineOf(actor, name), effect)),
  );
  const failures = results.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []));
  if (failures.length === 0) return;
  // One that may still land decides, whatever the others said: the batch is noted as in flight until it cannot.
  throw failures.find((each) => outcomeOf(each) === 'unknown') ?? failures[0];
}

/** Every step may be done twice, and all are retried together. Only who has left the cluster needs no pods back. */
async function abandon(
  actor: Actor,
  { uncordon: names, keepsRecord }: Extract<Effect, { kind: 'abandon' }>,
): Promise<void> {
  const { machinesIncomplete } = actor.observed.observation;
  for (const name of names) {
    const machine = actor.observed.machines.find((each) => each.name === name);
    if (machine !== undefined) await uncordon(actor, machine);
    else if (machinesIncomplete !== undefined)
      throw new Error(`${name} may still be cordoned, and cannot be let pods back: ${machinesIncomplete}`);
  }
  if (keepsRecord !== true) await actor.ports.store.removeRecord();
}

function machineOf(actor: Actor, name: string): ListedMachine {
  const machine = actor.observed.machines.find((each) => each.name === name);
  if (machine === undefined)
    throw new EffectRefusedError(`${name} is not in the list of machines any more; nothing was sent`);
  return machine;
}

import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import type { FaultPlan } from './faults.ts';
import type { SimMachine } from './machine.ts';
import { prints } from './material.ts';
import type { Scenario } from './run.ts';
import { beginReboot } from './transitions.ts';
import type { World } from './world.ts';

/** Where a person is at hand. */
export interface Surroundings {
  readonly world: World;
  readonly faults: FaultPlan;
  readonly scenario: Scenario;
}

/** Somebody who looks at a rotation that is blocked; what has not helped once will not help either. */
export interface Person {
  /** Whether there was something to do. */
  help(operation: TalosOperation | undefined): boolean;
  /** What was done in this run; undefined where nothing was. */
  done(): string | undefined;
}

/** Nobody has needed them yet. */
export function createPerson(surroundings: Surroundings): Person {
  const deeds: string[] = [];
  return {
    help(operation) {
      const machine = machineToReboot(surroundings, operation);
      const deed = `a person reboots ${machine?.name}, because of ${operation?.status.reason}`;
      if (machine === undefined || deeds.includes(deed)) return false;
      deeds.push(deed);
      surroundings.world.trace(deed);
      beginReboot(surroundings.world, machine);
      return true;
    },
    done: () => (deeds.length === 0 ? undefined : deeds.join('; ')),
  };
}

/**
 * A person reads why a rotation is blocked and does what its advice says, where
 * only hands help: reboots the machine that the message names. Undefined where the
 * rotation has to get on without anybody.
 */
function machineToReboot(
  { world, faults, scenario }: Surroundings,
  operation: TalosOperation | undefined,
): SimMachine | undefined {
  const { reason, message = '' } = operation?.status ?? {};
  const isSetBack = ({ name }: SimMachine): boolean =>
    (scenario.happenings ?? []).some((by) => (by.what === 'restore' || by.what === 'replace') && by.machine === name);
  const machine =
    world.machines().find(({ name }) => message.includes(name)) ??
    // Without etcd nobody says more: people look at its members.
    world.planes().find((each) => isSetBack(each) && isOutside(world, each) && startedTooEarly(each));
  if (machine === undefined || !machine.isUp || machine.isRebooting) return undefined;
  const isProving = reason === 'ProvingMachine' && isSetBack(machine);
  const isMeant =
    reason === 'RebootOverdue'
      ? wasNeverHeard(faults, machine)
      : (startedTooEarly(machine) && (isProving || isOutside(world, machine))) ||
        askedTooEarly(world, machine) ||
        isSignedByThePast(machine);
  return isMeant ? machine : undefined;
}

/** Asked twice at least, and no request arrived: the twenty minutes are over, and no program asks for more. */
function wasNeverHeard({ log }: FaultPlan, { name }: SimMachine): boolean {
  const begun = log.reboots.findLastIndex((each) => each.machine === name && each.begunAt !== undefined);
  return log.reboots.slice(begun + 1).filter(({ machine }) => machine === name).length > 1;
}

/**
 * Its etcd read its trust before the machine was told: one that came back two stages behind is not let in by
 * telling it, or lets in no client that a CA signed of which it has not read.
 */
function startedTooEarly({ plane, taken }: SimMachine): boolean {
  return plane !== undefined && plane.etcd.pool.join() !== prints(taken.etcd?.bundle ?? []).join();
}

function isOutside(world: World, machine: SimMachine): boolean {
  return !world.etcd.isHealthy(machine);
}

/**
 * A worker asked the trustd of a control plane that was yet to be told, and has its
 * list; by now everybody is told, and nothing makes the worker ask again for hours.
 */
function askedTooEarly(world: World, { role, api }: SimMachine): boolean {
  const lists = new Set(world.planes().map(({ taken }) => keyOf(taken.talos.accepted)));
  return role === 'worker' && lists.size === 1 && !lists.has(keyOf(api.accepted));
}

/**
 * A control plane that was set back has signed for its kubelet, by the old CA, after it had dropped that: nobody takes
 * it, and it asks for another certificate at its next start.
 */
function isSignedByThePast({ kubelet }: SimMachine): boolean {
  return kubelet.clientIssuer !== undefined && !kubelet.trust.includes(kubelet.clientIssuer);
}

function keyOf(certificates: Parameters<typeof prints>[0]): string {
  return [...prints(certificates)].sort().join();
}

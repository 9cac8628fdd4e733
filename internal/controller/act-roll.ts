import { cordonNode, drainRound, uncordonNode } from '../../pkg/kube/index.ts';
import type { Actor } from './act.ts';
import { timeLeft } from './act-apply.ts';
import { EffectRefusedError } from './effect-error.ts';
import type { ListedMachine } from './machines.ts';
import { ownersOf } from './material.ts';
import { drainSince, viaAny } from './observe-kubernetes.ts';

/** Keeps new pods off the machine. */
export async function cordon(actor: Actor, machine: ListedMachine): Promise<void> {
  await viaOthers(actor, machine, (client) => cordonNode(client, { node: nodeOf(machine), owner: actor.owner }));
}

/** Asks once for every pod that a drain evicts; what holds the others is kept for the next message. */
export async function drain(actor: Actor, machine: ListedMachine): Promise<void> {
  timeLeft(actor, machine.name);
  const { observation, aheadMs } = actor.observed;
  const since = drainSince(observation.operation, aheadMs);
  const left = await viaOthers(actor, machine, (client) => drainRound(client, nodeOf(machine), { since }));
  actor.session.drainHeld.clear();
  for (const pod of left) {
    const held =
      pod.why === 'budget'
        ? `PodDisruptionBudget ${pod.budget ?? '(unnamed)'}`
        : pod.why === 'refused'
          ? pod.detail
          : undefined;
    if (held !== undefined) actor.session.drainHeld.set(`${pod.namespace}/${pod.name}`, held);
  }
}

/** Best effort: etcd hands over by itself when it stops, only later. */
export async function forfeitLeadership(actor: Actor, machine: ListedMachine): Promise<void> {
  await actor.session.talos(machine, (client) => client.etcd.forfeitLeadership());
}

/** Goes straight to the machine. The marker was written before. */
export async function reboot(actor: Actor, machine: ListedMachine): Promise<void> {
  const expected = actor.observed.observation.machines.find((each) => each.name === machine.name);
  await actor.session.talos(machine, async (client) => {
    const bootId = await client.bootId();
    if (!expected?.talos.known || expected.talos.value.bootId !== bootId) {
      throw new EffectRefusedError(
        `${machine.name} is in another boot than the one that was observed; it was not rebooted`,
      );
    }
    await client.reboot('DEFAULT', { deadlineMs: timeLeft(actor, machine.name) });
  });
  actor.session.forget(machine);
}

/** Lets pods back, if it was us who kept them off. */
export async function uncordon(actor: Actor, machine: ListedMachine): Promise<void> {
  const node = nodeOf(machine);
  await viaOthers(actor, machine, async (client) => {
    for (const owner of ownersOf(actor.observed.state, actor.observed.observation.operation)) {
      await uncordonNode(client, { node, owner });
    }
  });
}

function nodeOf(machine: ListedMachine): string {
  return machine.node?.name ?? machine.name;
}

/** Through an API server on another machine where there is one: this one is about to go. */
async function viaOthers<T>(actor: Actor, machine: ListedMachine, work: Parameters<typeof viaAny<T>>[1]): Promise<T> {
  const planes = actor.observed.machines.filter((each) => each.role === 'controlplane');
  const ask = [
    ...planes.filter((each) => each.name !== machine.name),
    ...planes.filter((each) => each.name === machine.name),
  ];
  let isFirst = true;
  const reading = await viaAny({ session: actor.session, ask }, (client) => {
    // Each API server that is asked in place of another is asked later: somebody else may be at work by then.
    if (!isFirst) timeLeft(actor, machine.name);
    isFirst = false;
    return work(client);
  });
  if (!reading.known) throw new Error(reading.message);
  return reading.value;
}

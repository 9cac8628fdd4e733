import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { RenderStage, renderStage } from '../../pkg/machineconfig/index.ts';
import { Secret } from '../../pkg/pki/index.ts';
import type { Actor } from './act.ts';
import { EffectRefusedError } from './effect-error.ts';
import type { ListedMachine } from './machines.ts';
import { changesOf } from './material.ts';
import { digestOf } from './standing.ts';
import { messageOf } from './unknown.ts';

/**
 * Reads the configuration, changes the PKI fields of the rotation (or of some of
 * its targets alone), applies it with an explicit mode and reads it back. ApplyConfiguration has no
 * compare-and-set, so a configuration that is not the one the decision was made
 * on is left alone: somebody else is editing it.
 */
export async function applyConfig(
  actor: Actor,
  machine: ListedMachine,
  { stage, targets }: { readonly stage: RenderStage; readonly targets?: readonly CaTarget[] },
): Promise<void> {
  refuseOtherKept(actor, machine);
  return bringTo(actor, machine, { stage, targets });
}

/**
 * A configuration that was staged, or the one to which a machine goes back after a trial, is the only
 * copy of somebody's edit: an apply writes over the one, and makes the tried one last (docs/reference/talos-observed.md).
 */
function refuseOtherKept(actor: Actor, machine: ListedMachine): void {
  const seen = actor.observed.observation.machines.find((each) => each.name === machine.name);
  if (seen?.talos.known !== true) return;
  const { keptDigest, configDigest } = seen.talos.value;
  if (keptDigest === undefined || keptDigest === configDigest) return;
  throw new EffectRefusedError(
    `${machine.name} keeps another configuration for its next boot than the one that it runs: somebody staged one, or tries one; ` +
      'nothing was sent. Reboot it, wait for the trial to end, or apply the one that is wanted',
  );
}

async function bringTo(
  actor: Actor,
  machine: ListedMachine,
  { stage, targets }: { readonly stage: RenderStage; readonly targets?: readonly CaTarget[] | undefined },
): Promise<void> {
  const changes = changesOf(actor.observed.state).filter(({ target }) => targets?.includes(target) ?? true);
  await changeConfig(actor, machine, (before, options) => actor.render(before, changes, stage, options));
}

/**
 * Takes the new certificate authorities back. Going back to the beginning is the
 * last stage of the opposite rotation: what was new is dropped, what was old stays.
 */
export async function revertConfig(actor: Actor, machine: ListedMachine, to: 'Accepting' | 'Before'): Promise<void> {
  if (to === 'Accepting') return bringTo(actor, machine, { stage: 'Accepting' });
  const opposite = changesOf(actor.observed.state).map((change) => ({ ...change, old: change.new, new: change.old }));
  return changeConfig(actor, machine, (before, options) => actor.render(before, opposite, 'Dropping', options));
}

async function changeConfig(
  actor: Actor,
  machine: ListedMachine,
  render: (before: string, options: RenderOptions) => string,
): Promise<void> {
  const seen = actor.observed.observation.machines.find((each) => each.name === machine.name);
  if (seen === undefined || !seen.talos.known)
    throw new EffectRefusedError(`${machine.name} was not observed; nothing was sent`);
  const { version, configDigest, bootId } = seen.talos.value;
  await actor.session.talos(machine, async (client) => {
    const before = (await client.configuration('active')).config.expose();
    if (digestOf(before) !== configDigest) {
      throw new EffectRefusedError(`the configuration of ${machine.name} changed while we looked; nothing was sent`);
    }
    // The boot on record is what later proves that its etcd has started since.
    if ((await client.bootId()) !== bootId) {
      throw new EffectRefusedError(
        `${machine.name} is in another boot than the one that was observed; nothing was sent`,
      );
    }
    const where = `the configuration of ${machine.name}`;
    const options = { talosVersion: version, where };
    const config = rendered(() => render(before, options));
    const deadlineMs = timeLeft(actor, machine.name);
    await client.apply({ config: Secret.of('machine-config', config), mode: 'NO_REBOOT' }, { deadlineMs });
    const after = (await client.configuration('active')).config.expose();
    if (after !== config) {
      throw new EffectRefusedError(
        `the configuration of ${machine.name} is not what was sent; somebody else applied one at the same moment`,
      );
    }
  });
}

/**
 * What is left of the time that was noted before the call; after it nothing of ours may still land.
 * A monotonic clock stands still while this host sleeps, and the world does not: what was
 * seen before a lid was closed is no reason for a call after it was opened.
 */
export function timeLeft(actor: Actor, machine: string): number {
  const now = actor.time.now(actor.observed.observation.operation);
  const sleptMs = actor.ports.clock.now() - now - actor.observed.aheadMs;
  if (sleptMs > LONGEST_SLEEP_MS) {
    throw new EffectRefusedError(
      `this host stood still for ${Math.round(sleptMs / 1_000)} s, or its clock was set, since ${machine} was observed; nothing was sent`,
    );
  }
  const ageMs = now - actor.observed.startedAt;
  if (ageMs > OLDEST_LOOK_MS) {
    throw new EffectRefusedError(
      `what was seen before ${machine} is to be changed is ${Math.round(ageMs / 1_000)} s old, because a machine or an API server was slow, or this process stood still; nothing was sent`,
    );
  }
  const left = actor.deadline - now;
  if (left < LEAST_TIME_MS) throw new EffectRefusedError(`${machine} took too long to answer; nothing was sent`);
  return left;
}

/** A clock that is corrected by less is no sleep. */
const LONGEST_SLEEP_MS = 5_000;

/**
 * A look at a cluster that is well takes a second or two. What began a minute ago (a file that was slow to read, a process
 * that was stopped and continued) tells of an etcd that may have lost a member since.
 */
const OLDEST_LOOK_MS = 60_000;

/** Less than this is no time for a call. */
const LEAST_TIME_MS = 1_000;

/** How a configuration is brought to a stage. */
export type Render = typeof renderStage;

type RenderOptions = Parameters<Render>[3];

/** A configuration that may not be touched was not: nothing is in flight after that. */
function rendered(render: () => string): string {
  try {
    return render();
  } catch (error) {
    throw new EffectRefusedError(`nothing was sent: ${messageOf(error)}`);
  }
}

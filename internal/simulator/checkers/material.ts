import { CA_TARGETS, type CaTarget } from '../../../api/v1alpha1/index.ts';
import { caOf, type SecretsBundle } from '../../../pkg/bundle/index.ts';
import type { Fingerprint } from '../../../pkg/pki/index.ts';
import type { SimMachine } from '../machine.ts';
import { prints } from '../material.ts';
import type { Mint } from '../mint.ts';
import type { Moment } from '../run.ts';
import type { SimStore } from '../store.ts';
import type { World } from '../world.ts';

/** Fingerprints of the old and the new CA of a target in this run. */
export interface OldAndNew {
  readonly old: Fingerprint;
  readonly new: Fingerprint;
}

/** What the rotation replaces, and by what. */
export function pairOf({ world: { mint } }: Moment, target: CaTarget): OldAndNew {
  const known = pairs.get(mint) ?? pairsOf(mint);
  pairs.set(mint, known);
  return known[target];
}

const pairs = new WeakMap<Mint, Readonly<Record<CaTarget, OldAndNew>>>();

function pairsOf(mint: Mint): Readonly<Record<CaTarget, OldAndNew>> {
  const print = (target: CaTarget, generation: number) => mint.ca(target, generation).certificate.fingerprint;
  const entries = CA_TARGETS.map((target) => [target, { old: print(target, 0), new: print(target, 1) }]);
  return Object.fromEntries(entries) as Record<CaTarget, OldAndNew>;
}

/** CAs whose keys are stored, by where. */
export interface KeysHeld {
  readonly bundle: Readonly<Record<CaTarget, Fingerprint>>;
  /** The bundle that was replaced, while it is kept. */
  readonly previous: Readonly<Record<CaTarget, Fingerprint>> | undefined;
  /** Targets whose new key stands in the record, as its text says. */
  readonly record: ReadonlySet<CaTarget>;
}

/** What the store holds now; looked for again only when something was written. */
export function keysHeld({ store, world: { mint } }: Moment): KeysHeld {
  const { bundle } = store.document;
  const { previous, record } = store;
  const last = lastHeld.get(store);
  if (last?.bundle === bundle && last.previous === previous && last.record === record) return last.held;
  const held = {
    bundle: printsOf(bundle),
    previous: previous === undefined ? undefined : printsOf(previous),
    record: inRecord(record ?? '', mint),
  };
  lastHeld.set(store, { bundle, previous, record, held });
  return held;
}

interface LastHeld extends Pick<SimStore, 'previous' | 'record'> {
  readonly bundle: SecretsBundle;
  readonly held: KeysHeld;
}

const lastHeld = new WeakMap<SimStore, LastHeld>();

function printsOf(bundle: SecretsBundle): Readonly<Record<CaTarget, Fingerprint>> {
  const entries = CA_TARGETS.map((target) => [target, caOf(bundle, target).certificate.fingerprint]);
  return Object.fromEntries(entries) as Record<CaTarget, Fingerprint>;
}

function inRecord(record: string, mint: Mint): ReadonlySet<CaTarget> {
  const keyOf = (target: CaTarget): string => Buffer.from(mint.ca(target, 1).key.expose()).toString('base64');
  return new Set(CA_TARGETS.filter((target) => record.includes(keyOf(target))));
}

/** What a machine accepts for a target, as its resources say; undefined where the target does not concern it. */
export function acceptedBy(machine: SimMachine, target: CaTarget): readonly Fingerprint[] | undefined {
  const { taken } = machine;
  switch (target) {
    case 'talos':
      return prints(taken.talos.accepted);
    case 'kubernetes':
      return prints(taken.kubelet);
    case 'kubernetes-aggregator':
      return taken.aggregator === undefined ? undefined : prints(taken.aggregator.accepted);
    case 'etcd':
      return taken.etcd === undefined ? undefined : prints(taken.etcd.bundle);
  }
}

/** Who signs what this machine shows for a target; undefined where it shows nothing. */
export function issuerOf(machine: SimMachine, target: CaTarget): Fingerprint | undefined {
  switch (target) {
    case 'talos':
      return machine.api.issuer;
    case 'kubernetes':
      return machine.taken.kubernetes?.issuing.fingerprint;
    case 'kubernetes-aggregator':
      return machine.taken.aggregator?.issuing.fingerprint;
    case 'etcd':
      return machine.plane?.etcdLeaf;
  }
}

/** Whether the plan of this run holds any fault. */
export function isFaulted({ scenario, faults }: Moment): boolean {
  return faults.fired.length > 0 || (scenario.happenings ?? []).length > 0;
}

/** The machines that anybody can know of: one that is on its way into the cluster has no Node yet. */
export function registered(world: World): readonly SimMachine[] {
  return world.machines().filter(({ node }) => node !== undefined);
}

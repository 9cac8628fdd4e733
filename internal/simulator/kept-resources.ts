import type { Resource } from '../../pkg/talos/index.ts';
import type { SimMachine } from './machine.ts';
import { specOf } from './resources.ts';
import type { World } from './world.ts';

/** Which resource is asked for. */
export interface ResourceAsked {
  readonly type: string;
  readonly namespace: string;
  readonly id: string;
}

/** Everything that the resources of a machine are made of; what changes in place changes its revision. */
type Facts = Pick<SimMachine, 'bootId' | 'revision' | 'taken' | 'api' | 'view'> & { readonly leaf: string | undefined };

interface Kept {
  readonly facts: Facts;
  readonly resources: Map<string, Resource<unknown> | undefined>;
}

/**
 * A resource as the API hands it out, made anew only when what the machine makes it
 * of is another than last time: between two changes it is read a hundred times.
 */
export function resourceOf(world: World, machine: SimMachine, asked: ResourceAsked): Resource<unknown> | undefined {
  const { resources } = keptOf(machine);
  const known = resources.get(asked.type);
  if (known?.metadata.id === asked.id) return known;
  const made = makeResource(world, machine, asked);
  resources.set(asked.type, made);
  return made;
}

const kept = new WeakMap<SimMachine, Kept>();

function keptOf(machine: SimMachine): Kept {
  const known = kept.get(machine);
  if (known !== undefined && isOf(known.facts, machine)) return known;
  const { bootId, revision, taken, api, view, plane } = machine;
  const made = { facts: { bootId, revision, taken, api, view, leaf: plane?.etcdLeaf }, resources: new Map() };
  kept.set(machine, made);
  return made;
}

function isOf(facts: Facts, { bootId, revision, taken, api, view, plane }: SimMachine): boolean {
  return (
    facts.taken === taken &&
    facts.api === api &&
    facts.view === view &&
    facts.revision === revision &&
    facts.leaf === plane?.etcdLeaf &&
    facts.bootId === bootId
  );
}

function makeResource(world: World, machine: SimMachine, asked: ResourceAsked): Resource<unknown> | undefined {
  const found = specOf(world, machine, asked.type);
  if (found === undefined) return undefined;
  const now = world.clock.now();
  return {
    metadata: {
      ...asked,
      version: machine.versions.get(found.name) ?? 1n,
      phase: 'running',
      owner: 'simulator',
      created: now,
      updated: now,
      finalizers: [],
      labels: {},
      annotations: {},
    },
    spec: found.spec,
  };
}

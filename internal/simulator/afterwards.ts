import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import { createIdentities, createMemory, createSession, observe } from '../controller/index.ts';
import { DEFAULT_SETTINGS } from '../rotation/context.ts';
import { decide } from '../rotation/decide.ts';
import type { Observation } from '../rotation/observation.ts';
import { writeConfiguration } from './configuration.ts';
import { createSimConnections } from './connections.ts';
import { createProcess, type FaultPlan } from './faults.ts';
import { schedule } from './happenings.ts';
import { type SimMachine, viewOf } from './machine.ts';
import type { Mint } from './mint.ts';
import type { Scenario, Violation } from './run.ts';
import { stockOf } from './stock.ts';
import type { SimStore } from './store.ts';
import type { World } from './world.ts';

/** A run that is done. */
export interface Finished {
  readonly world: World<Mint>;
  readonly store: SimStore;
  readonly scenario: Scenario;
  readonly faults: FaultPlan;
  /** Name of the operation that is over. */
  readonly operation: string;
}

/** Until a machine that came back is what it is going to be. */
const SETTLE_MS = 120_000;
/** For so long the next operation is looked at; it may have to wait for Nodes first. */
const PATIENCE_MS = 180_000;
const LOOK_MS = 15_000;

/**
 * L9: nobody watches a cluster between two operations, so a machine that goes back
 * to older material then is found by the next operation, at the latest: it refuses
 * to begin, and names that machine. On a cluster in which nobody went back it
 * begins.
 */
export async function afterwards(finished: Finished): Promise<Violation | undefined> {
  const { world, store, scenario, operation } = finished;
  const { afterwards: happenings = [] } = scenario;
  if (happenings.length === 0) return undefined;
  const { clock } = world;
  const overMs = Math.max(...happenings.map((each) => each.at + ('forMs' in each ? each.forMs : 0)));
  const from = clock.monotonic();
  schedule(world, store, operation, happenings);
  await clock.run(clock.sleep(overMs + SETTLE_MS));
  // With an even number of control planes nothing begins, whoever went back.
  if (world.planes().length % 2 === 0) return undefined;
  const back = wentBack(finished);
  const said = await beginNext(finished);
  // Somebody may have left meanwhile.
  if (world.planes().length % 2 === 0) return undefined;
  world.trace(
    `next operation: ${said === undefined ? 'begins' : 'refuses'}; went back: ${back.map(({ name }) => name).join(', ') || 'nobody'}`,
  );
  const found = judge(back, said);
  return found === undefined ? undefined : { property: 'L9 drift', at: from, message: found };
}

function judge(back: readonly SimMachine[], said: string | undefined): string | undefined {
  const names = back.map(({ name }) => name);
  if (said === undefined)
    return back.length === 0 ? undefined : `another operation began although ${names[0]} went back`;
  if (back.length === 0) return `another operation did not begin although nobody went back: ${said}`;
  // Where no API server lists the Nodes, an address is all that is known of a machine.
  const isNamed = back.some(({ name, address }) => said.includes(name) || said.includes(address));
  return isNamed ? undefined : `nobody named ${names.join(' or ')}: ${said}`;
}

/** Machines that carry anything but what the bundle renders. */
function wentBack({ world, store, scenario }: Finished): SimMachine[] {
  const { bundle } = store.document;
  return world.machines().filter(({ name, role, config, born }) => {
    const shape = scenario.shape ?? 'typed';
    const { apiServerPort } = viewOf(born, name);
    const wanted = writeConfiguration({ role, shape, bundle, hostname: name, apiServerPort });
    // One that joined has the host name of another one, and an edit of a person's is not ours.
    return !name.startsWith('joined') && config.replace('# somebody was here\n', '') !== wanted;
  });
}

/** Why the next operation does not begin; undefined where it would write its record. It is looked at, and nothing is done. */
async function beginNext({ world, store, scenario, faults }: Finished): Promise<string | undefined> {
  const { clock } = world;
  const operation = store.create('next', { caRotation: { targets: [...scenario.targets] } });
  const look = createOnlooker(world, store, faults);
  const endsAt = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const decision = decide(await look(operation), { ...DEFAULT_SETTINGS, ...scenario.settings });
    if (decision.kind === 'act') return undefined;
    if (clock.monotonic() >= endsAt) return `${decision.reason}: ${decision.message}`;
    await clock.run(clock.sleep(LOOK_MS));
  }
}

/** Somebody who looks at a cluster as the engine would for this operation, and does nothing. */
export function createOnlooker(
  world: World<Mint>,
  store: SimStore,
  faults: FaultPlan,
): (operation: TalosOperation) => Promise<Observation> {
  const { clock, mint } = world;
  const process = createProcess('onlooker');
  const ports = {
    clock,
    connections: createSimConnections(world, process, faults),
    store: store.open(process, faults),
  };
  const stock = stockOf(mint);
  const input = {
    ports,
    session: createSession(ports, stock.readers),
    identities: createIdentities(clock, (ca, profile) => mint.issue(ca, profile, clock)),
    memory: createMemory(clock, stock.configs),
  };
  return async (operation) => (await clock.run(observe({ ...input, operation }))).observation;
}

import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { Reconciled } from '../controller/index.ts';
import type { CallLog } from './call-log.ts';
import { acknowledge, createSimEngine } from './engine.ts';
import { createFaultPlan, createProcess } from './faults.ts';
import type { Mint } from './mint.ts';
import { createSimStore } from './store.ts';
import { createWorld } from './world.ts';

/** One cluster of many under one process, looked at step by step. */
export interface FleetCluster {
  /** Looks once, and lets the time pass until the next look is due. `undefined` when the rotation is over. */
  step(): Promise<Reconciled | undefined>;
  /** Virtual milliseconds. */
  now(): number;
  /** When each machine was last read over its own API, by the call. */
  readonly reads: CallLog['reads'];
}

/** How a cluster of a fleet is made. */
export interface FleetOptions {
  readonly seed: number;
  readonly controlPlanes: number;
  readonly workers: number;
  readonly targets: readonly CaTarget[];
  readonly mint: Mint;
}

/** A cluster with an operation and an engine of its own. */
export function createFleetCluster({ targets, ...options }: FleetOptions): FleetCluster {
  const world = createWorld(options);
  const store = createSimStore(world);
  const faults = createFaultPlan(world, []);
  const engine = createSimEngine({ world, store, faults, process: createProcess('fleet') });
  const { name } = store.create('rotate', { caRotation: { targets: [...targets] } }).metadata;
  return {
    now: () => world.clock.monotonic(),
    reads: faults.log.reads,
    async step() {
      const reconciled = await world.clock.run(engine.reconcile(name));
      if (reconciled === undefined) return undefined;
      acknowledge(world, store, reconciled.operation);
      if (reconciled.recheckAfterMs === undefined) return undefined;
      await world.clock.run(world.clock.sleep(reconciled.recheckAfterMs));
      return reconciled;
    },
  };
}

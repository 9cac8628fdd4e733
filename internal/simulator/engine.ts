import { HANDOFF_ANNOTATION, handoffToken, type TalosOperation } from '../../api/v1alpha1/index.ts';
import { createEngine, type Engine } from '../controller/index.ts';
import { DEFAULT_SETTINGS, type Settings } from '../rotation/context.ts';
import { createSimConnections } from './connections.ts';
import type { FaultPlan, SimProcess } from './faults.ts';
import type { Mint } from './mint.ts';
import { stockOf } from './stock.ts';
import { createSimHook } from './storage.ts';
import type { SimStore } from './store.ts';
import type { World } from './world.ts';

/** What an engine in a simulated world is made of. */
export interface SimEngineOptions {
  readonly world: World<Mint>;
  readonly store: SimStore;
  readonly faults: FaultPlan;
  readonly process: SimProcess;
  readonly settings?: Partial<Settings> | undefined;
}

/** The engine of the product over a simulated world: only what it reaches, and where its CAs come from, is another. */
export function createSimEngine({ world, store, faults, process, settings }: SimEngineOptions): Engine {
  const { clock, mint } = world;
  const stock = stockOf(mint);
  return createEngine({
    ports: {
      clock,
      connections: createSimConnections(world, process, faults),
      store: store.open(process, faults),
      evacuation: createSimHook(world, store.storage, { process, faults }),
    },
    settings: { ...DEFAULT_SETTINGS, ...settings },
    newCa: async (target) => mint.ca(target, 1),
    configs: stock.configs,
    render: stock.render,
    readers: stock.readers,
    issueLeaf: (ca, profile) => {
      const { cn = '', o = [] } = profile.subject;
      const usages = [...profile.usages];
      faults.log.issued.push({ subject: [...[o].flat(), cn].join(), usages, validityMs: profile.validityMs ?? 0 });
      return mint.issue(ca, profile, clock);
    },
  });
}

/** People take a while to take the credentials that they are offered. */
const HANDOFF_MS = 8_000;

/** The operator acknowledges the hand-off, once for every time that it is asked for. */
export function acknowledge(world: World, store: SimStore, operation: TalosOperation): void {
  if (operation.status.stage !== 'AwaitingCredentials') return;
  const token = handoffToken(operation.status.caRotation);
  if (operation.metadata.annotations[HANDOFF_ANNOTATION] === token) return;
  world.clock.schedule(HANDOFF_MS, () => {
    store.edit(operation.metadata.name, (current) =>
      current.metadata.annotations[HANDOFF_ANNOTATION] === token
        ? current
        : {
            ...current,
            metadata: {
              ...current.metadata,
              annotations: { ...current.metadata.annotations, [HANDOFF_ANNOTATION]: token },
            },
          },
    );
  });
}

import { readFile } from 'node:fs/promises';
import { type CaTarget, HANDOFF_ANNOTATION, handoffToken, type TalosOperation } from '../../api/v1alpha1/index.ts';
import {
  type Connections,
  createConnections,
  createEngine,
  type Reconciled,
  type RunEnd,
  runOperation,
} from '../../internal/controller/index.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../internal/rotation/context.ts';
import { createSystemClock } from '../../pkg/clock/index.ts';
import { createMemoryStore, type MemoryStore } from '../builders/memory-store.ts';
import type { TalosCluster } from '../talos/cluster.ts';

/** One rotation of a real cluster by the engine alone, its store in memory. */
export interface Drive {
  readonly cluster: TalosCluster;
  readonly targets: readonly CaTarget[];
  readonly settings?: Partial<Settings>;
  readonly connections?: Connections;
  readonly onLook?: (reconciled: Reconciled) => void;
}

/** What a driven rotation left. */
export interface Driven {
  readonly end: RunEnd;
  readonly operation: TalosOperation;
  readonly store: MemoryStore;
}

/** Rotates the given targets to the end, acknowledging the hand-off as soon as it is asked for. */
export async function driveRotation(drive: Drive): Promise<Driven> {
  const clock = createSystemClock();
  const endpoints = drive.cluster.controlPlanes.map((machine) => machine.address);
  const store = await createMemoryStore(await readFile(drive.cluster.secretsFile), endpoints);
  const name = 'rotate';
  store.create(name, { caRotation: { targets: [...drive.targets] } }, clock.now());
  const ports = { clock, store, connections: drive.connections ?? createConnections() };
  const engine = createEngine({ ports, settings: { ...DEFAULT_SETTINGS, ...drive.settings } });
  try {
    const end = await runOperation({
      engine,
      clock,
      name,
      onLook: (reconciled) => {
        drive.onLook?.(reconciled);
        if (reconciled.operation.status.stage === 'AwaitingCredentials') acknowledge(store, reconciled.operation);
        return false;
      },
    });
    const operation = await store.readOperation(name);
    if (operation === undefined) throw new Error('the operation is gone');
    return { end, operation, store };
  } finally {
    engine.close();
  }
}

function acknowledge(store: MemoryStore, operation: TalosOperation): void {
  const token = handoffToken(operation.status.caRotation);
  if (operation.metadata.annotations[HANDOFF_ANNOTATION] === token) return;
  store.edit(operation.metadata.name, (current) => ({
    ...current,
    metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, [HANDOFF_ANNOTATION]: token } },
  }));
}

import {
  API_VERSION,
  type CaRotationStatus,
  type CaStage,
  type CaTarget,
  HANDOFF_ANNOTATION,
  handoffToken,
  type OperationCondition,
  type OperationSpec,
  pendingStatus,
  ROTATION_FINALIZER,
  type TalosOperation,
} from '../../api/v1alpha1/index.ts';
import { configStageOf, type Observation, type StoreObservation } from '../../internal/rotation/observation.ts';
import { aCluster, type ClusterOptions, pkiAt } from './machine.ts';
import { material, NEW, OLD } from './rotation-material.ts';

/** The time of the tests: 2026-11-05T12:00:00.000Z. */
export const NOW = Date.UTC(2026, 10, 5, 12);

/** A timestamp this many seconds before the tests' time. */
export function ago(seconds: number): string {
  return new Date(NOW - seconds * 1000).toISOString();
}

/** What a test says of the operation. */
export interface OperationOptions {
  readonly stage?: CaStage;
  readonly targets?: readonly CaTarget[];
  readonly paused?: boolean;
  readonly deleted?: boolean;
  readonly restartWorkloads?: 'Never' | 'Rolling';
  readonly unreachableEndpoints?: OperationSpec['unreachableEndpoints'];
  readonly evacuationHook?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly conditions?: readonly OperationCondition[];
  readonly status?: Partial<CaRotationStatus>;
}

/** A rotation of the given targets in the given stage; nothing marked, nothing in flight. */
export function anOperation(options: OperationOptions = {}): TalosOperation {
  const { stage = 'Accepting', targets = ['talos', 'kubernetes'] } = options;
  const status: CaRotationStatus = {
    targets: [...targets],
    certificates:
      stage === 'Pending' ? [] : targets.map((name) => ({ name, old: OLD[name] as string, new: NEW[name] as string })),
    ...(stage === 'Pending' ? {} : { stageStartedAt: ago(3600) }),
    applied: [],
    inFlight: [],
    etcdRestarted: [],
    ...options.status,
  };
  return {
    apiVersion: API_VERSION,
    kind: 'TalosOperation',
    metadata: {
      name: 'rotate-1',
      uid: 'uid-rotate-1',
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: ago(7200),
      ...(options.deleted ? { deletionTimestamp: ago(1) } : {}),
      finalizers: [ROTATION_FINALIZER],
      annotations: { [HANDOFF_ANNOTATION]: handoffToken(status), ...options.annotations },
    },
    spec: {
      type: 'CARotation',
      caRotation: { targets: [...targets] },
      paused: options.paused ?? false,
      restartWorkloads: options.restartWorkloads ?? 'Never',
      previousBundle: 'Archive',
      ...(options.unreachableEndpoints && { unreachableEndpoints: options.unreachableEndpoints }),
      ...(options.evacuationHook && { evacuationHook: options.evacuationHook }),
    },
    status: {
      ...pendingStatus(),
      observedGeneration: 1,
      phase: stage === 'Pending' ? 'Pending' : 'InProgress',
      stage,
      conditions: [...(options.conditions ?? SETTLED)],
      caRotation: status,
    },
  };
}

/** Conditions of a rotation whose waits are over. */
const SETTLED: readonly OperationCondition[] = [
  aCondition('AggregatorAccepted', 'True', 1000),
  aCondition('AuthenticationReset', 'True', 1000),
  aCondition('RootCaPublished', 'True', 1000),
];

/** A condition that changed this many seconds ago. */
export function aCondition(
  type: OperationCondition['type'],
  status: OperationCondition['status'],
  secondsAgo: number,
): OperationCondition {
  return { type, status, reason: 'Starting', message: '', lastTransitionTime: ago(secondsAgo) };
}

/** What a test says of a whole observation. */
export interface ObservationOptions extends OperationOptions, Omit<ClusterOptions, 'targets'> {
  readonly now?: number;
  /** For how long the process has looked at the operation, ms; a day when absent. */
  readonly watchedMs?: number;
  readonly store?: Partial<StoreObservation>;
  readonly kubernetes?: Partial<Observation['kubernetes']>;
  readonly refusals?: Observation['refusals'];
  readonly machinesIncomplete?: string;
  readonly unlisted?: Observation['unlisted'];
  readonly machines?: Observation['machines'];
}

/**
 * A rotation in which everything of the stage is done and proved: every machine
 * stands at it, was told in `boot-0` ten minutes ago and is in `boot-1` now with
 * another kube-apiserver; all that settles has settled. A test takes away what it
 * is about.
 */
export function anObservation(options: ObservationOptions = {}): Observation {
  const { stage = 'Accepting', targets = ['talos', 'kubernetes'] } = options;
  const stands = options.stands ?? configStageOf(stage);
  const machines = options.machines ?? aCluster({ ...options, targets, stands });
  const told = configStageOf(stage) === 'Before' ? [] : machines.map((machine) => wasTold(machine.name, stage));
  const pki = pkiAt(stage === 'Finalizing' ? 'Dropping' : stands, targets);
  return {
    now: options.now ?? NOW,
    watchedSince: (options.now ?? NOW) - (options.watchedMs ?? 86_400_000),
    operation: anOperation({ ...options, status: { applied: told, ...options.status } }),
    store: {
      material: stage === 'Pending' ? undefined : material(targets),
      bundleReplaced: stage === 'Finalizing' || stage === 'Done',
      problems: [],
      otherOperations: [],
      ...options.store,
    },
    machines,
    ...(options.machinesIncomplete === undefined ? {} : { machinesIncomplete: options.machinesIncomplete }),
    unlisted: options.unlisted ?? { known: true, value: [] },
    kubernetes: {
      authentication: {
        known: true,
        value: {
          present: true,
          uid: 'uid-authentication',
          requestheader: pki.aggregatorAccepted,
          client: pki.kubernetesAccepted,
        },
      },
      rootCa: { known: true, value: { total: 4, stale: [] } },
      stalePods: { known: true, value: [] },
      talosAccess: { known: true, value: [] },
      draining: { known: true, value: [] },
      unreadyControlPlanePods: { known: true, value: [] },
      ...options.kubernetes,
    },
    ...('refusals' in options
      ? options.refusals === undefined
        ? {}
        : { refusals: options.refusals }
      : { refusals: [{ what: 'talos client certificate at 10.0.0.1:50000', outcome: 'refused', message: 'refused' }] }),
  };
}

/** The record of a machine that was told a stage; by default ten minutes ago, in `boot-0`, with `container-0`. */
export function wasTold(
  machine: string,
  stage: CaStage,
  overrides: Partial<CaRotationStatus['applied'][number]> = {},
): CaRotationStatus['applied'][number] {
  const controlPlane = machine.startsWith('cp') ? { apiServerInstance: 'container-0' } : {};
  return { machine, stage, bootID: 'boot-0', ...controlPlane, appliedAt: ago(600), ...overrides };
}

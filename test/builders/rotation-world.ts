import {
  type CaRotationStatus,
  type CaStage,
  HANDOFF_ANNOTATION,
  handoffToken,
  type OperationStatus,
  pendingStatus,
  ROTATION_FINALIZER,
  type TalosOperation,
} from '../../api/v1alpha1/index.ts';
import type { Settings } from '../../internal/rotation/context.ts';
import { decide } from '../../internal/rotation/decide.ts';
import type { Decision, Effect, StatusPatch } from '../../internal/rotation/decision.ts';
import type { Observation } from '../../internal/rotation/observation.ts';
import { anOperation } from './rotation.ts';
import { material, NEW, OLD } from './rotation-material.ts';
import { type ClusterShape, WorldCluster } from './world-cluster.ts';

/**
 * How an effect ends: done and answered, certainly not done, done with the reply
 * lost, not done without a reply, done just before it no longer can be, done
 * twice; or the process dies after the mark, or after the effect.
 */
export const OUTCOMES = ['ok', 'refused', 'lost', 'dropped', 'late', 'twice', 'crash-before', 'crash-after'] as const;

/** One of the ways in which an effect ends. */
export type Outcome = (typeof OUTCOMES)[number];

/** What a run is like. */
export interface WorldOptions extends ClusterShape {
  /** How the effect with this number ends, counted from 0; `ok` unless said otherwise. */
  readonly outcome?: (effect: number) => Outcome;
  /** The durations of the design unless said otherwise. */
  readonly settings?: Settings;
  /** Called before every look. */
  readonly onLook?: (world: World) => void;
}

/** An effect that was decided on. */
export interface Happened {
  readonly stage: CaStage;
  readonly effect: Effect;
  readonly outcome: Outcome;
}

type Act = Extract<Decision, { kind: 'act' }>;

const CALL_DEADLINE_MS = 30_000;
/** A new process starts after a crash. */
const RESTART_MS = 20_000;

/** A rotation of a cluster in memory, driven by the real `decide` and by a shell that marks, acts and records. */
export class World {
  readonly cluster: WorldCluster;
  operation: TalosOperation;
  readonly happened: Happened[] = [];
  /** Every reason that was given for not going on. */
  readonly waits = new Set<string>();
  looks = 0;
  recorded = false;
  bundleReplaced = false;
  abandoned = false;
  private readonly options: WorldOptions;
  private readonly begunAt: number;

  constructor(options: WorldOptions) {
    this.options = options;
    this.cluster = new WorldCluster(options);
    this.begunAt = this.cluster.now;
    this.operation = {
      ...anOperation({ stage: 'Pending', targets: options.targets, conditions: [] }),
      status: pendingStatus(),
    };
  }

  get stage(): CaStage {
    return this.operation.status.stage;
  }

  /** Runs until the rotation is over, or the looks are used up. */
  run(looks = 3_000): this {
    for (let look = 0; look < looks && !this.isOver; look += 1) this.look();
    return this;
  }

  get isOver(): boolean {
    return this.abandoned || (this.stage === 'Done' && !this.recorded);
  }

  /** One observation, one decision, one effect. */
  look(): Decision {
    this.looks += 1;
    this.options.onLook?.(this);
    this.acknowledge();
    const decision = decide(this.observe(), this.options.settings);
    if (decision.kind === 'act') {
      this.perform(decision);
      this.cluster.pass(500);
    } else {
      this.waits.add(decision.reason);
      this.write(decision, undefined);
      this.cluster.pass(3_000);
    }
    return decision;
  }

  pause(paused: boolean): void {
    this.operation = { ...this.operation, spec: { ...this.operation.spec, paused } };
  }

  delete(): void {
    const deletionTimestamp = new Date(this.cluster.now).toISOString();
    this.operation = { ...this.operation, metadata: { ...this.operation.metadata, deletionTimestamp } };
  }

  /** An operator takes the credentials as soon as they are offered. */
  private acknowledge(): void {
    const { status, metadata } = this.operation;
    if (status.stage !== 'AwaitingCredentials' || metadata.annotations[HANDOFF_ANNOTATION] !== undefined) return;
    const annotations = { ...metadata.annotations, [HANDOFF_ANNOTATION]: handoffToken(status.caRotation) };
    this.operation = { ...this.operation, metadata: { ...metadata, annotations } };
  }

  observe(): Observation {
    const { cluster } = this;
    return {
      now: cluster.now,
      watchedSince: this.begunAt,
      operation: this.operation,
      store: {
        material: this.recorded ? material(this.options.targets) : undefined,
        bundleReplaced: this.bundleReplaced,
        problems: [],
        otherOperations: [],
      },
      machines: cluster.see(),
      ...(cluster.hasApi ? {} : { machinesIncomplete: 'no API server listed the Nodes' }),
      kubernetes: cluster.kubernetes(),
      refusals: cluster.refusals(),
    };
  }

  private perform(decision: Act): void {
    const { effect } = decision;
    const outcome = this.options.outcome?.(this.happened.length) ?? 'ok';
    this.happened.push({ stage: this.stage, effect, outcome });
    const calls = this.callsOf(effect);
    const before = this.operation.status.caRotation.inFlight;
    this.write(decision, { ...decision.mark, ...(calls.length === 0 ? {} : { inFlight: [...before, ...calls] }) });
    if (outcome === 'crash-before') {
      this.cluster.pass(RESTART_MS);
      return;
    }
    this.lands(effect, outcome, calls.length > 0);
    if (outcome === 'crash-after') this.cluster.pass(RESTART_MS);
    else if (outcome === 'lost' || outcome === 'dropped' || outcome === 'late') this.cluster.pass(CALL_DEADLINE_MS);
    else this.record(decision, outcome, calls.length > 0 ? { inFlight: before } : {});
  }

  private lands(effect: Effect, outcome: Outcome, isCall: boolean): void {
    if (outcome === 'refused' || outcome === 'dropped') return;
    if (outcome === 'late' && isCall) this.cluster.after(CALL_DEADLINE_MS + 9_000, () => this.does(effect));
    else this.does(effect);
    // A transport that repeats a request does so within its deadline.
    if (outcome === 'twice' && isCall) this.cluster.after(500, () => this.does(effect));
  }

  /** Writes what became of an effect whose outcome is certain. */
  private record(decision: Act, outcome: Outcome, calls: StatusPatch): void {
    const { effect } = decision;
    if (outcome !== 'refused') {
      this.write(decision, { ...decision.after, ...calls }, effect);
      return;
    }
    const marker = { etcdRebooting: undefined, etcdRebootBootID: undefined, etcdRebootSince: undefined };
    this.write(decision, { ...calls, ...(effect.kind === 'reboot' ? marker : {}) });
  }

  private callsOf(effect: Effect): CaRotationStatus['inFlight'] {
    if (!['apply-configs', 'apply-config', 'revert-config', 'reboot'].includes(effect.kind)) return [];
    const names = 'machines' in effect ? effect.machines : 'machine' in effect ? [effect.machine] : [];
    return names.map((name) => ({
      machine: name,
      call: effect.kind === 'reboot' ? 'reboot' : 'apply',
      bootID: `boot-${this.cluster.machine(name).boot}`,
      deadline: new Date(this.cluster.now + CALL_DEADLINE_MS).toISOString(),
    }));
  }

  private does(effect: Effect): void {
    if (effect.kind === 'write-record') this.recorded = true;
    if (effect.kind === 'replace-bundle') this.bundleReplaced = true;
    if (effect.kind === 'complete' || (effect.kind === 'abandon' && !effect.keepsRecord)) this.recorded = false;
    if (effect.kind === 'abandon') this.abandoned = true;
    this.cluster.does(effect);
  }

  /** Writes the status that a decision leads to, as the shell's report does. */
  private write(decision: Decision, patch: StatusPatch | undefined, done?: Effect): void {
    const { status, metadata } = this.operation;
    const now = new Date(this.cluster.now).toISOString();
    const stage = done?.kind === 'enter-stage' ? done.stage : status.stage;
    const isEntered = stage !== status.stage;
    const merged = {
      ...status.caRotation,
      ...(isEntered ? { stageStartedAt: now, etcdRestarted: [] } : {}),
      ...(this.recorded ? this.names() : {}),
      ...patch,
    };
    const annotations = { ...metadata.annotations };
    if (isEntered && stage === 'AwaitingCredentials') delete annotations[HANDOFF_ANNOTATION];
    this.operation = {
      ...this.operation,
      metadata: {
        ...metadata,
        annotations,
        finalizers: done?.kind === 'complete' ? [] : [ROTATION_FINALIZER],
      },
      status: {
        ...status,
        stage,
        reason: decision.reason,
        message: decision.message,
        caRotation: Object.fromEntries(
          Object.entries(merged).filter(([, value]) => value !== undefined),
        ) as CaRotationStatus,
        conditions: this.conditions(decision, now),
      },
    };
  }

  private names(): Pick<CaRotationStatus, 'targets' | 'certificates'> {
    const { targets } = this.options;
    return {
      targets: [...targets],
      certificates: targets.map((name) => ({ name, old: OLD[name] as string, new: NEW[name] as string })),
    };
  }

  private conditions(decision: Decision, now: string): OperationStatus['conditions'] {
    const wanted = decision.kind === 'act' ? (decision.conditions ?? []) : [];
    const { conditions } = this.operation.status;
    const kept = conditions.filter((each) => !wanted.some((other) => other.type === each.type));
    const changed = wanted.map((each) => {
      const before = conditions.find((other) => other.type === each.type);
      return { ...each, lastTransitionTime: before?.status === each.status ? before.lastTransitionTime : now };
    });
    return [...kept, ...changed];
  }
}

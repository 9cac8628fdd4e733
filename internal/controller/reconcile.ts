import type { CaRotationStatus, CaStage, CaTarget, TalosOperation } from '../../api/v1alpha1/index.ts';
import { renderStage } from '../../pkg/machineconfig/index.ts';
import type { CertificateAndKey } from '../../pkg/pki/index.ts';
import { DEFAULT_SETTINGS, type Settings } from '../rotation/context.ts';
import { decide } from '../rotation/decide.ts';
import { BLOCKED_RECHECK_MS, type Decision, type Effect, type StatusPatch } from '../rotation/decision.ts';
import type { Observation } from '../rotation/observation.ts';
import { CALL_DEADLINE_MS } from '../rotation/quiescence.ts';
import { type Actor, act, machineNameOf } from './act.ts';
import type { Render } from './act-apply.ts';
import type { HookAnswer } from './act-evacuation.ts';
import { newCa } from './act-store.ts';
import { type EffectOutcome, outcomeOf } from './effect-error.ts';
import { countFailure, type Failures } from './failures.ts';
import { createIdentities, type Identities, type IssueLeaf } from './identities.ts';
import { createMemory, type Memory, type Observed, observe } from './observe.ts';
import type { Ports } from './ports.ts';
import { changeOf, isNews, statusOf } from './report.ts';
import { createSession, type Readers, type Session } from './session.ts';
import type { ConfigReader } from './standing.ts';
import { messageOf } from './unknown.ts';
import { type Resting, stillWaiting, type Waiting, watchedFor } from './waiting.ts';

/** How one engine is made. */
export interface EngineOptions {
  readonly ports: Ports;
  readonly settings?: Settings;
  /** Makes a new certificate authority; Talos's profile unless given. */
  readonly newCa?: (target: CaTarget, now: number) => Promise<CertificateAndKey>;
  /** Makes our own client certificates; signed on the spot unless given. */
  readonly issueLeaf?: IssueLeaf;
  /** Reads machine configurations; one reader can be shared by many engines. */
  readonly configs?: ConfigReader;
  /** Renders machine configurations; a simulated world remembers what it has rendered before. */
  readonly render?: Render;
  /** Reads what machines hand out; a simulated world remembers what it has read before. */
  readonly readers?: Readers;
}

/** What one look at an operation led to. */
export interface Reconciled {
  readonly decision: Decision;
  /** What it follows from; during a wait for one machine the readings of the others are up to five seconds older. */
  readonly observation: Observation;
  /** As it is stored now. */
  readonly operation: TalosOperation;
  /** How soon to look again; `undefined` when it is over. */
  readonly recheckAfterMs: number | undefined;
}

/** Looks at operations, decides, and does at most one effect at a time. */
export interface Engine {
  /** `undefined` where the operation does not exist (any more). */
  reconcile(name: string): Promise<Reconciled | undefined>;
  close(): void;
}

/** How soon to look again after an effect: at once, its consequences are what the next decision is about. */
const AFTER_EFFECT_MS = 0;

/** How soon to look again after a failed call; twice as long after each that fails for the same reason. */
const AFTER_FAILURE_MS = 2_000;

/** After so many failures for the same reason a person should look. */
const FAILURES_TO_BLOCK = 4;

/** An engine over the given ports; it keeps connections and nothing else that could not be read again. */
export function createEngine(options: EngineOptions): Engine {
  const { ports } = options;
  const session = createSession(ports, options.readers);
  const shell: Shell = {
    ports,
    session,
    identities: createIdentities(ports.clock, options.issueLeaf),
    memory: createMemory(ports.clock, options.configs),
    failures: { text: '', count: 0 },
    waiting: undefined,
    settings: options.settings ?? DEFAULT_SETTINGS,
    newCa: options.newCa ?? newCa,
    render: options.render ?? renderStage,
  };
  return {
    reconcile: (name) => reconcile(shell, name),
    close: () => session.close(),
  };
}

interface Shell {
  readonly ports: Ports;
  readonly session: Session;
  readonly identities: Identities;
  readonly memory: Memory;
  readonly settings: Settings;
  readonly newCa: (target: CaTarget, now: number) => Promise<CertificateAndKey>;
  readonly render: Render;
  readonly failures: Failures;
  waiting: Waiting | undefined;
}

async function reconcile(shell: Shell, name: string): Promise<Reconciled | undefined> {
  const operation = await shell.ports.store.readOperation(name);
  if (operation === undefined) return undefined;
  const { waiting } = shell;
  const still = waiting && (await stillWaiting(waiting, { ...shell, operation }));
  if (still !== undefined) return rest(shell, operation, still);
  const observed = await observe({ ...shell, operation });
  const { observation } = observed;
  const decision = decide(observation, shell.settings);
  const machines = watchedFor(decision);
  shell.waiting = machines && { observed, machines };
  return decision.kind === 'act'
    ? perform(shell, observed, decision)
    : rest(shell, operation, { decision, observation });
}

async function rest(shell: Shell, operation: TalosOperation, { decision, observation }: Resting): Promise<Reconciled> {
  const stored = await write(shell, observation, operation, { decision, patch: undefined });
  const recheckAfterMs = decision.kind === 'done' ? undefined : decision.recheckAfterMs;
  return { decision, observation, operation: stored, recheckAfterMs };
}

type Act = Extract<Decision, { kind: 'act' }>;

/** Marks, acts, and records what became of it. */
async function perform(shell: Shell, observed: Observed, decision: Act): Promise<Reconciled> {
  const { observation } = observed;
  const { effect } = decision;
  const { time } = shell.memory;
  const deadline = time.now(observation.operation) + CALL_DEADLINE_MS;
  const calls = callsOf(observation, effect, deadline);
  const before = observation.operation.status.caRotation;
  // Whatever must survive a crash is durable before the effect leaves.
  const mark: StatusPatch = {
    ...decision.mark,
    ...(calls.length === 0 ? {} : { inFlight: [...before.inFlight, ...calls] }),
  };
  let operation = observation.operation;
  if (Object.keys(mark).length > 0) operation = await write(shell, observation, operation, { decision, patch: mark });
  await audit(shell, decision, operation, { phase: 'before' });
  const actor: Actor = { ...shell, observed, owner: operation.metadata.uid, deadline, time };
  let failure: unknown;
  let outcome: EffectOutcome = 'ok';
  let answer: HookAnswer | undefined;
  try {
    answer = await act(actor, effect);
  } catch (error) {
    failure = error;
    outcome = outcomeOf(error);
  }
  await audit(shell, decision, operation, {
    phase: 'after',
    outcome,
    message: failure === undefined ? (answer?.found ?? decision.message) : messageOf(failure),
  });
  if (outcome !== 'ok') return failed(shell, observation, operation, { decision, outcome, failure, calls });
  shell.failures.count = 0;
  const { evacuation } = operation.status.caRotation;
  const after: StatusPatch = {
    ...decision.after,
    ...(calls.length === 0 ? {} : { inFlight: before.inFlight }),
    ...(answer === undefined || evacuation === undefined ? {} : { evacuation: { ...evacuation, answer } }),
  };
  const stage = effect.kind === 'enter-stage' ? effect.stage : undefined;
  operation = await write(shell, observation, operation, { decision, patch: after, stage });
  return { decision, observation, operation, recheckAfterMs: AFTER_EFFECT_MS };
}

interface Failure {
  readonly decision: Act;
  readonly outcome: EffectOutcome;
  readonly failure: unknown;
  readonly calls: CaRotationStatus['inFlight'];
}

/** A refused call leaves nothing behind; one whose outcome is unknown stays noted as in flight. */
async function failed(
  shell: Shell,
  observation: Observation,
  operation: TalosOperation,
  what: Failure,
): Promise<Reconciled> {
  const { effect } = what.decision;
  const refused = what.outcome === 'refused';
  const patch: StatusPatch = {
    ...(refused && what.calls.length > 0 ? { inFlight: observation.operation.status.caRotation.inFlight } : {}),
    ...(refused && isFirstRequest(what.decision) ? REBOOT_MARKER_GONE : {}),
  };
  const machine = machineNameOf(effect);
  const message = `${effect.kind}${machine === undefined ? '' : ` on ${machine}`}: ${messageOf(what.failure)}`;
  const count = countFailure(shell.failures, message);
  const recheckAfterMs = Math.min(AFTER_FAILURE_MS * 2 ** (count - 1), BLOCKED_RECHECK_MS);
  const kind = count < FAILURES_TO_BLOCK ? 'wait' : 'blocked';
  const decision: Decision = { kind, reason: 'CallFailed', message, recheckAfterMs };
  const stored = await write(shell, observation, operation, { decision, patch });
  return { decision, observation, operation: stored, recheckAfterMs };
}

/** A reboot that was certainly not taken is asked for anew, through every gate again. */
const REBOOT_MARKER_GONE: StatusPatch = {
  etcdRebooting: undefined,
  etcdRebootBootID: undefined,
  etcdRebootSince: undefined,
};

/** Whether a reboot is asked for the first time: a refused repetition says nothing of the request before it, which may have been heard. */
function isFirstRequest({ mark }: Act): boolean {
  return mark?.etcdRebooting !== undefined;
}

interface Written {
  readonly decision: Decision;
  readonly patch: StatusPatch | undefined;
  readonly stage?: CaStage | undefined;
}

async function write(
  shell: Shell,
  observation: Observation,
  operation: TalosOperation,
  what: Written,
): Promise<TalosOperation> {
  const status = statusOf({ operation, observation, ...what });
  const change = changeOf(operation, what.decision, status);
  const isMore = change.dropHandoff === true || change.finalizers !== undefined;
  if (!isMore && !isNews(operation.status, status)) return operation;
  return shell.ports.store.updateOperation(operation, change);
}

/** The calls that may still land after a lost reply: those that change a machine. */
function callsOf(observation: Observation, effect: Effect, until: number): CaRotationStatus['inFlight'] {
  const machines =
    effect.kind === 'apply-configs'
      ? effect.machines
      : effect.kind === 'apply-config' || effect.kind === 'revert-config' || effect.kind === 'reboot'
        ? [effect.machine]
        : [];
  const isReboot = effect.kind === 'reboot';
  const deadline = new Date(until).toISOString();
  return machines.map((name) => {
    const machine = observation.machines.find((each) => each.name === name);
    return {
      machine: name,
      call: isReboot ? 'reboot' : 'apply',
      bootID: machine?.talos.known ? machine.talos.value.bootId : '',
      deadline,
    };
  });
}

async function audit(
  shell: Shell,
  decision: Act,
  operation: TalosOperation,
  entry: { phase: 'before' } | { phase: 'after'; outcome: EffectOutcome; message: string },
): Promise<void> {
  const machine = machineNameOf(decision.effect);
  await shell.ports.store.appendAudit({
    time: new Date(shell.ports.clock.now()).toISOString(),
    operation: operation.metadata.name,
    stage: operation.status.stage,
    effect: decision.effect.kind,
    message: decision.message,
    ...(machine === undefined ? {} : { machine }),
    ...(decision.effect.kind === 'apply-configs' ? { machines: decision.effect.machines } : {}),
    ...entry,
  });
}

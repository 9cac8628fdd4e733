import { hostname } from 'node:os';
import { adviceFor, type TalosOperation } from '../../../api/v1alpha1/index.ts';
import { createAnnouncer, createEngine, type Reconciled, type RunEnd, runOperation } from '../../controller/index.ts';
import type { Settings } from '../../rotation/context.ts';
import { metricsOf } from '../../rotation/metrics.ts';
import type { Observation } from '../../rotation/observation.ts';
import type { EmbeddedStore } from '../../store/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { ClusterView } from '../cluster-view.ts';
import type { CliEnvironment } from '../environment.ts';
import { acknowledge, offerCredentials } from '../handoff/handoff.ts';
import type { Output } from '../output.ts';
import { createProgress, type Progress } from '../progress/follow.ts';
import type { MetricsFile } from '../progress/metrics-file.ts';
import { createEvacuationHook } from './evacuation-hook.ts';
import { measuredDurations } from './measured.ts';

/** Everything that a run of an operation needs. */
export interface RunContext {
  readonly environment: CliEnvironment;
  readonly output: Output;
  readonly store: EmbeddedStore;
  readonly view: ClusterView;
  readonly log: Logger;
  /** Keeps what each look came to as metrics; absent where nobody asked for it. */
  readonly metrics?: MetricsFile | undefined;
  /** Stay at the hand-off until the credentials are taken. */
  readonly follow: boolean;
  /** Ask nothing; with `follow`, take the credentials. */
  readonly yes: boolean;
  readonly settings: Settings;
}

/** How a run ended, and what was seen last. */
export interface RunOutcome {
  readonly end: RunEnd;
  readonly operation: TalosOperation | undefined;
  readonly observation: Observation | undefined;
}

/**
 * Runs the engine on one operation in this process, shows how it goes, and takes
 * care of the hand-off when its stage comes. Ctrl-C ends it between two effects.
 */
export async function runRotation(context: RunContext, name: string): Promise<RunOutcome> {
  const { environment, output, store } = context;
  const { clock, interrupted } = environment;
  const connections = await environment.connections();
  const evacuation = createEvacuationHook({
    env: environment.env,
    directory: store.directory,
    signal: interrupted,
  });
  const engine = createEngine({ ports: { clock, connections, store, evacuation }, settings: context.settings });
  const announcer = createAnnouncer({
    ports: { clock, connections, store },
    host: hostname(),
    onLost: (why) => context.log.warn(why),
  });
  const { rebootMs } = measuredDurations((await store.readAudit()).entries);
  const progress = createProgress(output, clock, { settleMs: context.settings.aggregatorSettleMs, rebootMs });
  let last: Reconciled | undefined;
  let isOffered = false;
  const onLeaving = (): void =>
    progress.say('leaving after this step; Ctrl-C again leaves at once, which is safe as well');
  interrupted.addEventListener('abort', onLeaving, { once: true });
  try {
    const end = await runOperation({
      engine,
      clock,
      name,
      signal: interrupted,
      async onLook(reconciled) {
        last = reconciled;
        logLook(context.log, reconciled);
        await context.metrics?.write(metricsOf(reconciled));
        announcer.look(reconciled);
        progress.look(reconciled);
        const { decision } = reconciled;
        const isWaiting = decision.kind === 'wait' && decision.reason === 'AwaitingCredentials';
        if (!isWaiting || isOffered) return false;
        isOffered = true;
        return handOff(context, progress, name);
      },
    });
    return { end, operation: last?.operation, observation: last?.observation };
  } catch (error) {
    // Interrupted in the middle of a wait of the hand-off.
    if (interrupted.aborted) return { end: 'detached', operation: last?.operation, observation: last?.observation };
    throw error;
  } finally {
    interrupted.removeEventListener('abort', onLeaving);
    progress.end();
    engine.close();
    await announcer.close();
  }
}

/** Offers the new credentials, and takes them where that was asked for; `true` ends the run. */
async function handOff(context: RunContext, progress: Progress, name: string): Promise<boolean> {
  const { environment, store, view, follow, yes } = context;
  const connections = await environment.connections();
  const { clock, interrupted, ask } = environment;
  const say = (line: string): void => progress.say(line);
  const offer = await offerCredentials({ store, view, connections, clock, signal: interrupted, say });
  const where = `${offer.files.path('talosconfig')}.new and ${offer.files.path('kubeconfig')}.new`;
  say(`new credentials are in ${where}; each control plane answered to them:`);
  for (const line of offer.tried) say(`  ${line}`);
  if (!(follow && yes)) {
    if (ask === undefined || yes) return stayOrStop(say, follow);
    const question = 'Take them into use? The old ones stop working in the next stages.';
    if (!(await ask.confirm(question))) return stayOrStop(say, follow);
  }
  await acknowledge(store, offer.files, name);
  say(
    `the new credentials are in use: ${offer.files.path('talosconfig')} and ${offer.files.path('kubeconfig')}; the old ones are kept as *.old until the end`,
  );
  return false;
}

function stayOrStop(say: (line: string) => void, follow: boolean): boolean {
  say(adviceFor('AwaitingCredentials'));
  return !follow;
}

function logLook(log: Logger, { decision, operation }: Reconciled): void {
  const { name, uid } = operation.metadata;
  log.info(decision.kind, {
    operation: name,
    uid,
    stage: operation.status.stage,
    reason: decision.reason,
    message: decision.message,
    effect: decision.kind === 'act' ? decision.effect.kind : undefined,
    machine: decision.kind === 'act' && 'machine' in decision.effect ? decision.effect.machine : undefined,
  });
}

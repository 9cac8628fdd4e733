import { resolve } from 'node:path';
import {
  ROTATION_FINALIZER,
  rotationAbandonable,
  sortCaTargets,
  type TalosOperation,
} from '../../../api/v1alpha1/index.ts';
import { targetsOf } from '../../rotation/decide.ts';
import type { Plan } from '../../rotation/plan.ts';
import { createSilentLogger, type Logger } from '../../telemetry/index.ts';
import { CliError } from '../cli-error.ts';
import { checkLiveName } from '../cluster-name.ts';
import { type ClusterView, createClusterView } from '../cluster-view.ts';
import { type Invocation, text } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { credentialFiles } from '../handoff/credential-files.ts';
import { type FinishOptions, finishCredentials, settleLeftovers } from '../handoff/finish.ts';
import { refreshTalosconfig } from '../handoff/refresh.ts';
import { retryHandoff } from '../handoff/retry.ts';
import { type OpenCluster, openCluster } from '../open-cluster.ts';
import { changeSpec, operationName, operationUnderWay } from '../operations.ts';
import { refuseOwnFile } from '../own-files.ts';
import { type MetricsFile, openMetricsFile } from '../progress/metrics-file.ts';
import { completionOf, completionText } from './completion.ts';
import { dryRun } from './dry-run.ts';
import { checkHook } from './evacuation-hook.ts';
import { lookAtPlan } from './plan.ts';
import { type RotateRequest, readRequest, settingsOf, specOf } from './request.ts';
import { type RunOutcome, runRotation } from './run.ts';
import { checkRecipients, checkSealing } from './sealing.ts';

/** `ichor cluster rotate-ca`: plan, ask, run to the end; or go on with what is under way. */
export async function rotateCa(invocation: Invocation): Promise<ExitName> {
  const { options, environment } = invocation;
  const request = readRequest(options, environment.workingDirectory);
  if (request.evacuationHook !== undefined) await checkHook(request.evacuationHook);
  const purpose = request.dryRun ? {} : { purpose: 'rotating certificate authorities' };
  await using cluster = await openCluster(invocation, { ...purpose, bundle: true });
  await checkRecipients(options, cluster.store);
  await checkSealing(cluster.store);
  const connections = await environment.connections();
  using view = createClusterView({ store: cluster.store, connections, clock: environment.clock });
  const underWay = await operationUnderWay(cluster.store);
  if (request.dryRun) {
    if (underWay !== undefined) throw underWayError(underWay);
    await checkLiveName(invocation.argument, view);
    // Awaited here: leaving the block closes the view's connections.
    return await dryRun(invocation, { view, request, store: cluster.store });
  }
  await checkNamedFiles(invocation, cluster.directory);
  const logFile = text(options, 'log');
  // Before anything is stored: a file that cannot be written is said while nothing has begun.
  const log = logFile === undefined ? createSilentLogger() : await openLog(environment, logFile);
  try {
    const metrics = await openMetrics(invocation);
    const begun =
      underWay === undefined
        ? await start(invocation, { cluster, view, request })
        : { operation: await resume(invocation, { operation: underWay, cluster, view, request }), plan: undefined };
    if (begun === undefined) return 'declined';
    const { operation, plan } = begun;
    const { yes, follow } = request;
    const settings = settingsOf(request);
    const context = {
      environment,
      output: invocation.output,
      store: cluster.store,
      view,
      log,
      metrics,
      yes,
      follow,
      settings,
    };
    return await conclude(invocation, { cluster, view, plan }, await runRotation(context, operation.metadata.name));
  } finally {
    await log.close();
  }
}

/** What is named to be written beside the rotation must be no file that the rotation itself lives in. */
async function checkNamedFiles({ options, environment }: Invocation, directory: string): Promise<void> {
  for (const name of ['log', 'metricsFile']) {
    const file = text(options, name);
    if (file !== undefined) await refuseOwnFile(resolve(environment.workingDirectory, file), directory);
  }
}

async function openMetrics({ options, environment, output }: Invocation): Promise<MetricsFile | undefined> {
  const file = text(options, 'metricsFile');
  if (file === undefined) return undefined;
  return openMetricsFile(resolve(environment.workingDirectory, file), (line) => output.say(line));
}

async function openLog({ openLog: open }: Invocation['environment'], file: string): Promise<Logger> {
  try {
    return await open(file);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new CliError('usage', `--log: ${file} cannot be written: ${problem}`, 'Nothing was done.', cause);
  }
}

function underWayError({ metadata, status }: TalosOperation): CliError {
  return new CliError(
    'refused',
    `the operation ${metadata.name} is under way (stage ${status.stage}); a dry run is about a rotation that has not begun`,
    `See where it stands: ichor operation explain ${metadata.name}`,
  );
}

interface Starting {
  readonly cluster: OpenCluster;
  readonly view: ClusterView;
  readonly request: RotateRequest;
}

/** Shows the plan, asks, and stores the operation; nothing where the answer is no. */
async function start(
  invocation: Invocation,
  { cluster, view, request }: Starting,
): Promise<{ readonly operation: TalosOperation; readonly plan: Plan } | undefined> {
  const { environment, output } = invocation;
  const { store } = cluster;
  await checkLiveName(invocation.argument, view);
  const now = environment.clock.now();
  const settled = await settleLeftovers(store, now);
  if (settled !== undefined) output.say(`note: ${settled}`);
  const plan = await lookAtPlan(view, request, { now, store });
  output.people.write(`${plan.text}\n`);
  if (plan.blocked !== undefined) throw new CliError('refused', plan.blocked.message, plan.blocked.advice);
  if (!request.yes) {
    if (environment.ask === undefined) {
      throw new CliError(
        'declined',
        'nobody is there to confirm the plan',
        'Give --yes to start without a question. Nothing was changed.',
      );
    }
    if (!(await environment.ask.confirm('Start?'))) {
      output.say('nothing was changed');
      return undefined;
    }
  }
  const { bundle, record } = await store.readState();
  // Beside a record they may have been issued by its CAs, which secrets.yaml does not hold yet.
  const files = credentialFiles(store.directory);
  const renewed = record === undefined ? await refreshTalosconfig({ files, bundle, now }) : undefined;
  if (renewed?.said !== undefined) output.say(`note: ${renewed.said}`);
  const created = await store.createOperation({
    name: operationName(now),
    spec: specOf(plan.request),
    finalizers: [ROTATION_FINALIZER],
  });
  output.say(`operation ${created.metadata.name} (uid ${created.metadata.uid})`);
  return { operation: created, plan: plan.value };
}

/** Goes on with an operation that was interrupted; its targets were frozen when it began. */
async function resume(
  invocation: Invocation,
  { operation, cluster, view, request }: Starting & { readonly operation: TalosOperation },
): Promise<TalosOperation> {
  const { output, environment } = invocation;
  const { name, uid } = operation.metadata;
  const { stage, caRotation } = operation.status;
  const targets =
    caRotation.targets.length > 0 ? sortCaTargets(caRotation.targets) : targetsOf({ operation, store: NO_RECORD });
  if (request.isChosen && targets.join() !== request.targets.join()) {
    throw new CliError(
      'refused',
      `the operation ${name} is under way and replaces ${targets.join(', ')}; ${request.targets.join(', ')} was asked for`,
      `Finish it first (ichor cluster rotate-ca without --ca)${rotationAbandonable(stage, targets).abandonable ? `, or abandon it: ichor operation delete ${name}` : ''}`,
    );
  }
  if (operation.spec.paused) {
    throw new CliError(
      'refused',
      `the operation ${name} is paused in stage ${stage}`,
      `Let it go on: ichor operation continue ${name}`,
    );
  }
  const { clock, interrupted: signal } = environment;
  // A machine that restarts in the middle of the rotation is waited for, as the rotation itself would.
  const onWaiting = (error: Error): void => output.say(`waiting for the name of the cluster: ${error.message}`);
  await checkLiveName(invocation.argument, {
    clusterName: () => retryHandoff(() => view.clusterName(), { clock, signal, onWaiting }),
  });
  const changed = await changeSpec(cluster.store, name, request.given);
  output.say(`going on with the operation ${name} (uid ${uid}), stage ${stage}: ${targets.join(', ')}`);
  if (changed.spec.evacuationHook !== undefined) output.say(`evacuation hook: ${changed.spec.evacuationHook}`);
  return changed;
}

const NO_RECORD = { material: undefined, bundleReplaced: false, problems: [], otherOperations: [] };

/** Says how it ended, and brings the credentials in the directory in line with that. */
async function conclude(
  { output, environment }: Invocation,
  { cluster, view, plan }: Omit<Starting, 'request'> & { readonly plan: Plan | undefined },
  { end, operation, observation }: RunOutcome,
): Promise<ExitName> {
  const { clock, interrupted } = environment;
  if (end === 'detached') {
    output.say('interrupted between two steps; the rotation stands safely. Run the same command again to go on');
    await output.result({ end, operation, plan }, '');
    return 'detached';
  }
  if (end === 'stopped') {
    await output.result({ end, operation, plan }, '');
    return 'handoff';
  }
  if (end === 'gone') {
    const settled = await settleLeftovers(cluster.store, clock.now());
    output.say(`the operation was deleted and the rotation abandoned${settled === undefined ? '' : `; ${settled}`}`);
    await output.result({ end }, '');
    return 'abandoned';
  }
  await tidyCredentials({
    store: cluster.store,
    view,
    clock,
    signal: interrupted,
    makeKubeconfig: false,
    say: (line) => output.say(line),
  });
  const completion = completionOf(operation, observation);
  await output.result({ end, operation, plan, ...completion }, completionText(completion));
  return 'ok';
}

/** The rotation is complete whatever comes of this: what is in the directory works, and can be brought up to date later. */
async function tidyCredentials(
  options: Omit<FinishOptions, 'onWaiting'> & { readonly say: (line: string) => void },
): Promise<void> {
  const { say } = options;
  try {
    const onWaiting = (error: Error): void => say(`waiting for the Kubernetes API: ${error.message}`);
    for (const line of await finishCredentials({ ...options, onWaiting })) say(line);
  } catch (error) {
    say(
      `the credentials in the directory could not be brought up to date: ${error instanceof Error ? error.message : String(error)}`,
    );
    say('They still work, and trust the old certificate authority as well. Run ichor cluster credentials.');
  }
}

import { isAtLeast, type TalosOperation } from '../../../api/v1alpha1/index.ts';
import { descriptorsOf } from '../../rotation/targets/index.ts';
import type { ClusterState } from '../../store/index.ts';
import { CliError } from '../cli-error.ts';
import { checkLiveName } from '../cluster-name.ts';
import { type ClusterView, createClusterView } from '../cluster-view.ts';
import { flag, type Invocation, list } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { holderOf, type OpenCluster, openCluster } from '../open-cluster.ts';
import { nextOf, operationUnderWay, targetsAskedFor } from '../operations.ts';
import { credentialFiles } from './credential-files.ts';
import { authoritiesFor } from './credentials.ts';
import { finishCredentials, settleLeftovers } from './finish.ts';
import { acknowledge, offerCredentials } from './handoff.ts';
import { type MergedFile, mergeIntoHome } from './merge.ts';
import { credentialStanding } from './standing.ts';

/** `ichor cluster credentials` */
export async function showCredentials(invocation: Invocation): Promise<ExitName> {
  const { argument, options, environment, output } = invocation;
  await using cluster = await openCluster(invocation, { bundle: true });
  const connections = await environment.connections();
  using view = createClusterView({
    store: cluster.store,
    connections,
    clock: environment.clock,
    endpoints: list(options, 'endpoint'),
  });
  await checkLiveName(argument, view);
  const operation = await operationUnderWay(cluster.store);
  const acknowledging = flag(options, 'acknowledge');
  if (flag(options, 'merge') && !acknowledging && operation !== undefined && isBeforeHandOff(operation))
    throw mergeTooEarly(operation);
  const { record } = await cluster.store.readState();
  if (operation?.status.stage === 'AwaitingCredentials') {
    await handOver(invocation, { cluster, view }, acknowledging ? operation.metadata.name : undefined);
  } else if (acknowledging) {
    const where =
      operation === undefined
        ? 'no operation is under way'
        : `the operation ${operation.metadata.name} is in stage ${operation.status.stage}`;
    throw new CliError(
      'refused',
      `${where}; only AwaitingCredentials waits for credentials`,
      'An acknowledgement before that stage would be dropped.',
    );
  } else if (record !== undefined || (operation !== undefined && operation.status.stage !== 'Pending')) {
    // They may have been issued by the CAs of the record, which secrets.yaml does not hold yet.
    const why =
      operation === undefined
        ? 'rotation.yaml holds the new certificate authorities of an operation that is gone, which ichor cluster rotate-ca goes on with'
        : `the operation ${operation.metadata.name} is in stage ${operation.status.stage}`;
    output.say(`${why}; the credentials in the directory are left as they are`);
  } else {
    await bringUpToDate(invocation, { cluster, view });
  }
  await report(invocation, cluster);
  return 'ok';
}

/** Whether the credentials of people are yet to be replaced. */
function isBeforeHandOff(operation: TalosOperation): boolean {
  const targets = targetsAskedFor(operation);
  const isHandedOff = targets.length === 0 || descriptorsOf(targets).some(({ handOff }) => handOff);
  return isHandedOff && !isAtLeast(operation.status.stage, 'Issuing');
}

/** Merged now, those in use would stop working in the next stages. */
function mergeTooEarly({ metadata, status }: TalosOperation): CliError {
  const waits =
    status.stage === 'AwaitingCredentials'
      ? 'waits until its new credentials are taken'
      : `is in stage ${status.stage}, and is going to hand over new credentials`;
  return new CliError(
    'refused',
    `the operation ${metadata.name} ${waits}; --merge would put the old ones into your files`,
    'Take them in AwaitingCredentials and merge them: ichor cluster credentials --acknowledge --merge. Nothing was changed.',
  );
}

interface Opened {
  readonly cluster: OpenCluster;
  readonly view: ClusterView;
}

async function handOver(
  invocation: Invocation,
  { cluster, view }: Opened,
  acknowledged: string | undefined,
): Promise<void> {
  const { environment, output } = invocation;
  const connections = await environment.connections();
  const { clock, interrupted } = environment;
  const say = (line: string): void => output.say(line);
  const offer = await offerCredentials({ store: cluster.store, view, connections, clock, signal: interrupted, say });
  for (const line of offer.tried) say(line);
  if (acknowledged === undefined) {
    say(`written: ${offer.files.path('talosconfig')}.new and ${offer.files.path('kubeconfig')}.new`);
    say('take them into use and let the rotation go on: ichor cluster credentials --acknowledge');
    return;
  }
  const operation = await acknowledge(cluster.store, offer.files, acknowledged);
  const next = nextOf(operation, await holderOf(cluster.store));
  say(`acknowledged: ${next}; the old files are kept as *.old until it is over`);
}

async function bringUpToDate({ environment, output }: Invocation, { cluster, view }: Opened): Promise<void> {
  const { clock, interrupted } = environment;
  const settled = await settleLeftovers(cluster.store, clock.now());
  if (settled !== undefined) output.say(settled);
  const done = await finishCredentials({
    store: cluster.store,
    view,
    clock,
    signal: interrupted,
    makeKubeconfig: true,
    onWaiting: (error) => output.say(`waiting for the Kubernetes API: ${error.message}`),
  });
  for (const line of done) output.say(line);
}

/** Merges where that was asked for, and says how the files stand. */
async function report({ options, environment, output }: Invocation, cluster: OpenCluster): Promise<void> {
  const files = credentialFiles(cluster.directory);
  const state = await cluster.store.readState();
  const { talosconfig, kubeconfig } = await files.read();
  let merged: MergedFile[] = [];
  if (flag(options, 'merge')) {
    if (talosconfig === undefined || kubeconfig === undefined) {
      throw new CliError(
        'refused',
        `${cluster.directory} does not hold both talosconfig and kubeconfig yet; nothing was merged`,
        'Take them first: --acknowledge.',
      );
    }
    const known = knownAuthorities(state, await cluster.store.listOperations());
    merged = await mergeIntoHome(environment.homeDirectory, { talosconfig, kubeconfig }, known);
  }
  const standing = await credentialStanding(files, state, environment.clock.now());
  const lines = [
    ...standing.map((each) => `${files.path(each.file)}: ${each.standing}`),
    ...merged.map(
      ({ path, context, before }) =>
        `merged into ${path}; its context is ${context} now${before === undefined ? '' : ` (it was ${before})`}`,
    ),
  ];
  await output.result({ directory: cluster.directory, files: standing, merged }, lines.join('\n'));
}

/** Fingerprints of the CAs that this cluster has, and of those that the operations in its directory replaced. */
function knownAuthorities(state: ClusterState, operations: readonly TalosOperation[]): string[] {
  const now = (['talos', 'kubernetes'] as const).flatMap((target) => authoritiesFor(state, target).trust);
  const before = operations.flatMap(({ status }) =>
    status.caRotation.certificates.flatMap((each) => [each.old, each.new]),
  );
  return [...now.map(({ fingerprint }) => fingerprint), ...before];
}

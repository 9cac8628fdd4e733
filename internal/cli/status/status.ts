import { CA_TARGETS, type CaTarget, type OperationSpec, type TalosOperation } from '../../../api/v1alpha1/index.ts';
import { caOf, type SecretsBundle } from '../../../pkg/bundle/index.ts';
import type { MachineObservation } from '../../rotation/observation.ts';
import { checkClusterName } from '../cluster-name.ts';
import { createClusterView } from '../cluster-view.ts';
import type { Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { credentialFiles } from '../handoff/credential-files.ts';
import { credentialStanding } from '../handoff/standing.ts';
import { openCluster } from '../open-cluster.ts';
import { draftOperation, operationUnderWay } from '../operations.ts';
import { trustedBy } from '../rotate/completion.ts';
import { textTable } from '../text-table.ts';
import { driftLines, driftOf } from './drift.ts';

/** `ichor cluster status` */
export async function showStatus(invocation: Invocation): Promise<ExitName> {
  const { argument, environment, output } = invocation;
  const { clock } = environment;
  await using cluster = await openCluster(invocation, { bundle: true });
  const { store } = cluster;
  using view = createClusterView({ store, connections: await environment.connections(), clock });
  const now = clock.now();
  const underWay = await operationUnderWay(store);
  const state = await store.readState();
  const observation = await view.observe(underWay ?? draftOperation(LOOK_AT_ALL, now));
  const clusterName = observation.machines.some((each) => each.talos.known) ? await view.clusterName() : undefined;
  if (clusterName !== undefined) checkClusterName(argument, [{ name: clusterName, by: 'its control planes' }]);
  const status = {
    cluster: clusterName ?? null,
    directory: cluster.directory,
    certificates: certificatesOf(state.bundle, now),
    machines: observation.machines.map(machineStatus),
    incomplete: observation.machinesIncomplete ?? null,
    drift: driftOf(observation),
    operation: underWay === undefined ? null : operationStatus(underWay),
    credentials: await credentialStanding(credentialFiles(cluster.directory), state, now),
  };
  await output.result(status, statusText(status));
  return clusterName === undefined ? 'unreachable' : 'ok';
}

/** Every target is looked at; nothing of this is ever stored. */
const LOOK_AT_ALL: OperationSpec = {
  type: 'CARotation',
  caRotation: { targets: [...CA_TARGETS] },
  paused: false,
  restartWorkloads: 'Never',
  previousBundle: 'Archive',
};

interface CertificateStatus {
  readonly name: CaTarget;
  readonly fingerprint: string;
  readonly expires: string;
  readonly daysLeft: number;
}

function certificatesOf(bundle: SecretsBundle, now: number): CertificateStatus[] {
  return CA_TARGETS.map((name) => {
    const { fingerprint, notAfter } = caOf(bundle, name).certificate;
    return {
      name,
      fingerprint,
      expires: new Date(notAfter).toISOString(),
      daysLeft: Math.floor((notAfter - now) / 86_400_000),
    };
  });
}

interface MachineStatus {
  readonly name: string;
  readonly address: string;
  readonly role: string;
  readonly version: string | null;
  readonly node: string;
  /** Where its configuration stands for each target. */
  readonly standing: Readonly<Partial<Record<CaTarget, string>>>;
  /** The CAs that it says it trusts. */
  readonly trusted: Readonly<Partial<Record<CaTarget, readonly string[]>>>;
  readonly problem: string | null;
}

function machineStatus({ name, address, role, talos, node }: MachineObservation): MachineStatus {
  const known = talos.known ? talos.value : undefined;
  const targets =
    known === undefined ? [] : CA_TARGETS.filter((target) => known.standing[target].stage !== 'NotConcerned');
  return {
    name,
    address,
    role,
    version: known?.version ?? null,
    node: !node.known
      ? 'unknown'
      : node.value === undefined
        ? 'no Node'
        : node.value.ready
          ? 'Ready'
          : node.value.readyMessage,
    standing: Object.fromEntries(targets.map((target) => [target, known?.standing[target].stage])),
    trusted: Object.fromEntries(
      targets.map((target) => [target, known === undefined ? [] : trustedBy(known.pki, target)]),
    ),
    problem: talos.known ? null : problemOf(talos),
  };
}

/** Most messages begin with their kind; it is not said twice. */
function problemOf({ why, message }: { readonly why: string; readonly message: string }): string {
  return message.startsWith(`${why}: `) ? message : `${why}: ${message}`;
}

function operationStatus({ metadata, spec, status }: TalosOperation) {
  return {
    name: metadata.name,
    paused: spec.paused,
    phase: status.phase,
    stage: status.stage,
    reason: status.reason,
    message: status.message,
  };
}

interface Status {
  readonly cluster: string | null;
  readonly directory: string;
  readonly certificates: readonly CertificateStatus[];
  readonly machines: readonly MachineStatus[];
  readonly incomplete: string | null;
  readonly drift: readonly string[];
  readonly operation: ReturnType<typeof operationStatus> | null;
  readonly credentials: readonly { readonly file: string; readonly standing: string }[];
}

function statusText(status: Status): string {
  const { cluster, directory, certificates, machines, incomplete, drift, operation, credentials } = status;
  const authorities = certificates.map((each) => [
    each.name,
    each.fingerprint.slice(0, 16),
    each.expires.slice(0, 10),
    `${each.daysLeft}`,
  ]);
  const rows = machines.map((each) => [
    each.name,
    each.role,
    each.version ?? '?',
    each.node,
    each.problem ?? CA_TARGETS.map((target) => each.standing[target] ?? '-').join(' '),
  ]);
  return [
    `cluster ${cluster ?? '(no control plane answered)'} in ${directory}`,
    '',
    textTable([['CA', 'FINGERPRINT', 'EXPIRES', 'DAYS'], ...authorities]),
    '',
    textTable([['MACHINE', 'ROLE', 'TALOS', 'NODE', `STANDING (${CA_TARGETS.join(' ')})`], ...rows]),
    ...(incomplete === null ? [] : [`the list of machines may be incomplete: ${incomplete}`]),
    '',
    ...driftLines(
      drift,
      machines.map(({ name, problem }) => ({ name, isKnown: problem === null })),
    ),
    operation === null
      ? 'no operation is under way'
      : `operation ${operation.name}: ${operation.paused ? 'Paused' : operation.phase} in ${operation.stage}, ${operation.reason}: ${operation.message}`,
    ...credentials.map(({ file, standing }) => `${file}: ${standing}`),
  ].join('\n');
}

import { adviceFor, type CaTarget } from '../../../api/v1alpha1/index.ts';
import {
  listApiServices,
  listStalePods,
  readTalosAccess,
  type StalePods,
  type TalosAccessSecret,
} from '../../../pkg/kube/index.ts';
import { type Certificate, verifyChain } from '../../../pkg/pki/index.ts';
import { locate } from '../../controller/index.ts';
import { targetsOf } from '../../rotation/decide.ts';
import { passesByItself } from '../../rotation/hold.ts';
import type { Observation } from '../../rotation/observation.ts';
import { type Plan, planOf } from '../../rotation/plan.ts';
import type { EmbeddedStore } from '../../store/index.ts';
import { CliError } from '../cli-error.ts';
import type { ClusterView } from '../cluster-view.ts';
import { draftOperation } from '../operations.ts';
import { measuredDurations } from './measured.ts';
import { planText } from './plan-text.ts';
import { type RotateRequest, settingsOf, specOf } from './request.ts';

/** Pods that trust the Kubernetes CA of now, and what keeps them alive. */
export interface PodsToRestart {
  /** `namespace/kind/name` */
  readonly owner: string;
  readonly pods: readonly string[];
  /** Whether `--restart-workloads` can restart them; others are their owner's to replace. */
  readonly restartable: boolean;
}

/** What the plan of a rotation says of the programs in the cluster. */
interface Clients {
  readonly warnings: readonly string[];
  readonly podsToRestart: readonly PodsToRestart[];
}

/** A plan with the pods that need a restart. */
export type NamedPlan = Plan & Pick<Clients, 'podsToRestart'>;

/** A plan, for people and for programs. */
export interface LookedAtPlan {
  /** What was asked for, with the targets that it is really about. */
  readonly request: RotateRequest;
  readonly text: string;
  readonly value: NamedPlan;
  /** Why the rotation would not start now. */
  readonly blocked: { readonly message: string; readonly advice: string } | undefined;
}

/**
 * Looks at the cluster and says what a rotation would do; only reads. Where the record of an operation that is gone was
 * left, it is about what that one began.
 */
export async function lookAtPlan(
  view: ClusterView,
  asked: RotateRequest,
  { now, store }: { readonly now: number; readonly store: Pick<EmbeddedStore, 'readAudit'> },
): Promise<LookedAtPlan> {
  const observation = await observeForPlan(view, asked, now);
  const request = withRecord(asked, observation);
  const plan = planOf(observation, settingsOf(request), measuredDurations((await store.readAudit()).entries));
  const [{ warnings, podsToRestart }, closed, kubelets] = await Promise.all([
    clientsOf(view, request.targets),
    closedPorts(view, observation.machines, request),
    kubeletsOfCa(view, observation.machines, request),
  ]);
  const value = {
    ...plan,
    warnings: [
      ...leftRecord(observation, request),
      ...settleWarning(request),
      ...plan.warnings,
      ...closed,
      ...warnings,
      ...kubelets,
    ],
    podsToRestart,
  };
  const { blocker } = plan;
  return {
    request,
    value,
    text: planText(value),
    blocked: blocker === undefined ? undefined : { message: blocker.message, advice: adviceFor(blocker.reason) },
  };
}

/** One answer that came too late is no reason not to begin: what may pass by itself is looked at a second time. */
async function observeForPlan(view: ClusterView, asked: RotateRequest, now: number): Promise<Observation> {
  const operation = draftOperation(specOf(asked), now);
  const first = await view.observe(operation);
  const { blocker } = planOf(first, settingsOf(asked));
  return blocker === undefined || !passesByItself(blocker) ? first : await view.observe(operation);
}

/** The targets are those of a record that was left: its CAs may be on machines, and nowhere else. Errors: `refused`. */
function withRecord(request: RotateRequest, observation: Observation): RotateRequest {
  if (observation.store.material === undefined) return request;
  const targets = targetsOf(observation);
  if (request.isChosen && targets.join() !== request.targets.join()) {
    throw new CliError(
      'refused',
      `rotation.yaml holds new certificate authorities for ${targets.join(', ')}, of an operation that is gone; ${request.targets.join(', ')} was asked for`,
      'Machines may run with them already. Finish that rotation first: ichor cluster rotate-ca without --ca.',
    );
  }
  return { ...request, targets };
}

function leftRecord({ store }: Observation, { targets }: RotateRequest): string[] {
  if (store.material === undefined) return [];
  return [
    `rotation.yaml holds new certificate authorities for ${targets.join(', ')}, of an operation that is gone. This rotation goes on with them, where the machines stand, and makes no others.`,
  ];
}

/** A shortened wait is a risk that somebody must have wanted. */
function settleWarning({ settleMs }: RotateRequest): string[] {
  if (settleMs === undefined) return [];
  return [
    `For rehearsals only: settles are ${settleMs / 1000} s instead of 120 s (--settle). Extension API servers may not have read the new aggregator CA by then, and an API server that starts late may undo the reset of extension-apiserver-authentication unseen.`,
  ];
}

/** As many machines as a warning names. */
const NAMED = 5;

/** Kubelets with a serving certificate of the Kubernetes CA keep it until they drop that CA; pods trust the new one alone before. */
async function kubeletsOfCa(
  view: ClusterView,
  machines: Observation['machines'],
  { targets }: RotateRequest,
): Promise<string[]> {
  if (!targets.includes('kubernetes')) return [];
  const found = await view.kubeletsOfCa(machines.filter(({ talos }) => talos.known));
  if (found.length === 0) return [];
  const names = `${found.slice(0, NAMED).join(', ')}${found.length > NAMED ? ` and ${found.length - NAMED} more` : ''}`;
  return [
    `Kubelets serve certificates of the Kubernetes CA (rotate-server-certificates): ${names}. From Issuing, when kube-root-ca.crt is the new CA, until a machine has dropped the old one, programs that verify kubelets with it (metrics-server) refuse them. In Dropping each kubelet asks for a new one, and whoever approves that must be running.`,
  ];
}

/** Where etcd serves its clients and its peers. */
const ETCD_PORTS: readonly number[] = [2379, 2380];

/** Where the proof of the end cannot be made from here: better known before the point of no return. */
async function closedPorts(
  view: ClusterView,
  machines: Observation['machines'],
  { targets, unreachableEndpoints }: RotateRequest,
): Promise<string[]> {
  // A machine that is away as a whole is said by the gates.
  const found = await view.unreachableEndpoints(machines.filter(({ talos }) => talos.known).map(locate), targets);
  if (found.length === 0) return [];
  const then =
    unreachableEndpoints === 'Report'
      ? 'They are reported at the end as not tried.'
      : 'The rotation will hold for them in Finalizing: open these ports to this host, or give --unreachable-endpoints report.';
  const isEtcdHidden = targets.includes('etcd') && found.some(({ port }) => ETCD_PORTS.includes(port));
  return [
    `That old credentials are refused cannot be tried from this host at ${found.map(({ text }) => text).join('; ')}. ${then}`,
    ...(isEtcdHidden
      ? [
          'This host cannot see what etcd serves: control planes are rebooted after Issuing as well, three times in all.',
        ]
      : []),
  ];
}

/** Programs in the cluster that hold one of the CAs, by name: some are only their owner's to restart. */
async function clientsOf(view: ClusterView, targets: readonly CaTarget[]): Promise<Clients> {
  const none: Clients = { warnings: [], podsToRestart: [] };
  if (!targets.some((target) => target !== 'etcd')) return none;
  try {
    const [plane] = await view.controlPlanes();
    if (plane === undefined) throw new CliError('unreachable', 'the cluster has no control plane');
    const ca = await view.talosCa();
    return await view.session.kube(plane, async (client) => ({
      warnings: [
        ...(targets.includes('kubernetes-aggregator') ? extensionServers(await listApiServices(client)) : []),
        ...(targets.includes('talos') ? talosClients(await readTalosAccess(client), ca) : []),
      ],
      // Whatever runs now will have started before the new root CA is published.
      podsToRestart: targets.includes('kubernetes')
        ? podsOf(await listStalePods(client, { startedBefore: Number.POSITIVE_INFINITY }))
        : [],
    }));
  } catch (error) {
    // The plan is still right; what it could not name is said.
    const found = error instanceof Error ? error.message : String(error);
    return {
      ...none,
      warnings: [
        `Extension API servers, clients of the Talos API and pods that need a restart could not be listed: ${found}`,
      ],
    };
  }
}

function extensionServers(services: Awaited<ReturnType<typeof listApiServices>>): string[] {
  const names = [...new Set(services.flatMap(({ extension }) => extension ?? []))];
  if (names.length === 0) return [];
  return [
    `Extension API servers that read the aggregator CA only at their start must be restarted by their owner after Accepting: ${names.join(', ')}.`,
  ];
}

function talosClients(accesses: readonly TalosAccessSecret[], ca: Certificate): string[] {
  if (accesses.length === 0) return [];
  const names = accesses.map((access) => `${access.namespace}/${access.name} (${accessText(access, ca)})`);
  return [
    `Programs that call the Talos API lose it for a moment in Issuing, until they read their Secret again; Dropping waits until Talos has renewed every one: ${names.join(', ')}.`,
  ];
}

function accessText({ pods, certificate, problem }: TalosAccessSecret, ca: Certificate): string {
  const used = pods.length === 0 ? 'no pods' : pods.join(', ');
  if (certificate === undefined) return `${used}; ${problem}`;
  // Both CAs of a rotation share their name, so the signature decides; what is over is said beside it.
  const options = { now: certificate.notBefore, usage: 'client', clockSkewMs: Number.MAX_SAFE_INTEGER } as const;
  return verifyChain(certificate, [ca], options).ok
    ? used
    : `${used}; its certificate is not by the CA of now: Talos did not renew it`;
}

function podsOf(stale: readonly StalePods[]): PodsToRestart[] {
  return stale.map(({ namespace, owner, name, pods, restartable }) => ({
    owner: `${namespace}/${owner}/${name}`,
    pods,
    restartable,
  }));
}

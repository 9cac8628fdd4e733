import {
  cordonNode,
  deleteAggregatorAuth,
  drainRound,
  isKubeError,
  type KubeClient,
  readAggregatorAuth,
  restartWorkload,
  withDryRun,
} from '../../../pkg/kube/index.ts';
import { type ListedMachine, parseOwner } from '../../controller/index.ts';
import { authenticationReset } from '../../rotation/stages/authentication-reset.ts';
import { descriptorsOf } from '../../rotation/targets/index.ts';
import { type ClusterView, firstAnswer } from '../cluster-view.ts';
import type { NamedPlan } from './plan.ts';
import type { RotateRequest } from './request.ts';

/** What an API server said to a change that it was asked to check and not to make. */
export interface KubeDryRunResult {
  readonly change: 'cordon' | 'drain' | 'reset-authentication' | 'restart-workload';
  /** The Node, the ConfigMap or the workload. */
  readonly object: string;
  /** What would be in the way now, or is to be known; empty where it would simply be done. */
  readonly found: readonly string[];
}

/** What is checked. */
export interface KubeDryRunOptions {
  readonly view: Pick<ClusterView, 'session' | 'controlPlanes'>;
  readonly request: Pick<RotateRequest, 'targets' | 'restartWorkloads'>;
  readonly plan: Pick<NamedPlan, 'podsToRestart'>;
  /** Written where a rollout would be asked for, ms since the epoch. */
  readonly now: number;
}

const AUTHENTICATION = 'kube-system/extension-apiserver-authentication';

/** Has an API server check every kind of change that this rotation will ask Kubernetes for; nothing is stored. Errors: those of a server that does not answer. */
export async function checkKubernetes(options: KubeDryRunOptions): Promise<KubeDryRunResult[]> {
  const planes = await options.view.controlPlanes();
  return firstAnswer(planes, (plane) =>
    options.view.session.kube(plane, (client) => checkAll(withDryRun(client), planes, options)),
  );
}

async function checkAll(
  client: KubeClient,
  planes: readonly ListedMachine[],
  { request, plan, now }: KubeDryRunOptions,
): Promise<KubeDryRunResult[]> {
  const targets = descriptorsOf(request.targets);
  const results: KubeDryRunResult[] = [];
  for (const { name, node } of targets.some(({ rolled }) => rolled) ? planes : []) {
    const object = node?.name ?? name;
    results.push({ change: 'cordon', object, found: await answered(() => cordon(client, object)) });
    results.push({ change: 'drain', object, found: await answered(() => drain(client, object)) });
  }
  if (targets.some(({ settle }) => settle.Finalizing?.includes(authenticationReset))) {
    const found = await answered(() => reset(client));
    results.push({ change: 'reset-authentication', object: AUTHENTICATION, found });
  }
  const workloads = request.restartWorkloads === 'Rolling' ? plan.podsToRestart : [];
  for (const { owner } of workloads.filter(({ restartable }) => restartable)) {
    const found = await answered(() => restart(client, owner, now));
    results.push({ change: 'restart-workload', object: owner, found });
  }
  return results;
}

/** A refusal is a finding; a server that does not answer has found nothing. */
async function answered(ask: () => Promise<string[]>): Promise<string[]> {
  try {
    return await ask();
  } catch (error) {
    if (!isKubeError(error, 'forbidden', 'invalid', 'webhook', 'not-found', 'conflict')) throw error;
    return [error.message];
  }
}

async function cordon(client: KubeClient, node: string): Promise<string[]> {
  const result = await cordonNode(client, { node, owner: 'dry-run' });
  return result === 'cordoned' ? [] : ['somebody cordoned it already; it stays so after its reboot'];
}

async function drain(client: KubeClient, node: string): Promise<string[]> {
  const left = await drainRound(client, node);
  return left.flatMap(({ namespace, name, why, budget, detail }) =>
    why === 'leaving'
      ? []
      : [
          `${namespace}/${name} is held by ${why === 'budget' ? `PodDisruptionBudget ${budget ?? '(unnamed)'}: ` : ''}${detail}`,
        ],
  );
}

async function reset(client: KubeClient): Promise<string[]> {
  const map = await readAggregatorAuth(client);
  if (map === undefined) return ['it is not there'];
  await deleteAggregatorAuth(client, map.uid);
  return [];
}

async function restart(client: KubeClient, owner: string, now: number): Promise<string[]> {
  await restartWorkload(client, parseOwner(owner), now);
  return [];
}

const WOULD: Readonly<Record<KubeDryRunResult['change'], string>> = {
  cordon: 'may be cordoned',
  drain: 'may be drained',
  'reset-authentication': 'may be reset',
  'restart-workload': 'may be restarted',
};

/** One line for people. */
export function kubeDryRunText({ change, object, found }: KubeDryRunResult): string {
  return found.length === 0 ? `${object}: ${WOULD[change]}` : `${object}: ${change}: ${found.join('; ')}`;
}

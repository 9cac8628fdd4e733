import { adviceFor, type CaTarget } from '../../../api/v1alpha1/index.ts';
import { listApiServices, listTalosAccess } from '../../../pkg/kube/index.ts';
import { type Plan, planOf } from '../../rotation/plan.ts';
import { CliError } from '../cli-error.ts';
import type { ClusterView } from '../cluster-view.ts';
import { draftOperation } from '../operations.ts';
import { planText } from './plan-text.ts';
import { type RotateRequest, settingsOf, specOf } from './request.ts';

/** A plan, for people and for programs. */
export interface LookedAtPlan {
  readonly text: string;
  readonly value: Plan;
  /** Why the rotation would not start now. */
  readonly blocked: { readonly message: string; readonly advice: string } | undefined;
}

/** Looks at the cluster and says what a rotation would do; only reads. */
export async function lookAtPlan(view: ClusterView, request: RotateRequest, now: number): Promise<LookedAtPlan> {
  const observation = await view.observe(draftOperation(specOf(request), now));
  const plan = planOf(observation, settingsOf(request));
  const value = {
    ...plan,
    warnings: [...settleWarning(request), ...plan.warnings, ...(await clientsOf(view, request.targets))],
  };
  const { blocker } = plan;
  return {
    value,
    text: planText(value),
    blocked: blocker === undefined ? undefined : { message: blocker.message, advice: adviceFor(blocker.reason) },
  };
}

/** A shortened wait is a risk that somebody must have wanted. */
function settleWarning({ settleMs }: RotateRequest): string[] {
  if (settleMs === undefined) return [];
  return [
    `For rehearsals only: settles are ${settleMs / 1000} s instead of 120 s (--settle). Extension API servers may not have read the new aggregator CA by then, and an API server that starts late may undo the reset of extension-apiserver-authentication unseen.`,
  ];
}

/** Programs in the cluster that hold one of the CAs and are nobody's but their owner's to restart, by name. */
async function clientsOf(view: ClusterView, targets: readonly CaTarget[]): Promise<string[]> {
  const asked = targets.includes('kubernetes-aggregator') || targets.includes('talos');
  if (!asked) return [];
  try {
    const [plane] = await view.controlPlanes();
    if (plane === undefined) throw new CliError('unreachable', 'the cluster has no control plane');
    return await view.session.kube(plane, async (client) => [
      ...(targets.includes('kubernetes-aggregator') ? extensionServers(await listApiServices(client)) : []),
      ...(targets.includes('talos') ? talosClients(await listTalosAccess(client)) : []),
    ]);
  } catch (error) {
    // The plan is still right; what it could not name is said.
    return [
      `Extension API servers and clients of the Talos API could not be listed: ${error instanceof Error ? error.message : String(error)}`,
    ];
  }
}

function extensionServers(services: Awaited<ReturnType<typeof listApiServices>>): string[] {
  const names = [...new Set(services.flatMap(({ extension }) => extension ?? []))];
  if (names.length === 0) return [];
  return [
    `Extension API servers that read the aggregator CA only at their start must be restarted by their owner after Accepting: ${names.join(', ')}.`,
  ];
}

function talosClients(accesses: Awaited<ReturnType<typeof listTalosAccess>>): string[] {
  if (accesses.length === 0) return [];
  const names = accesses.map(({ namespace, name, pods }) => `${namespace}/${name} (${pods.length} pods)`);
  return [
    `Programs that call the Talos API lose it for a moment in Issuing, until they read their Secret again: ${names.join(', ')}.`,
  ];
}

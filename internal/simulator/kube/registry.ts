import { BUDGETS } from './budgets.ts';
import { CONFIG_MAPS, SECRETS } from './config-maps.ts';
import { LEASES } from './leases.ts';
import { NAMESPACES, SERVICE_ACCOUNTS, SERVICES } from './namespaces.ts';
import { NODES } from './nodes.ts';
import { PODS } from './pods.ts';
import { apiServices, EVENTS, NEW_EVENTS, SIGNING_REQUESTS } from './records.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import { DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS } from './workload-objects.ts';

/** Every resource that a simulated API server has. */
export const RESOURCES: readonly Resource[] = [
  NODES,
  NAMESPACES,
  PODS,
  CONFIG_MAPS,
  SECRETS,
  SERVICES,
  SERVICE_ACCOUNTS,
  EVENTS,
  DEPLOYMENTS,
  DAEMON_SETS,
  REPLICA_SETS,
  LEASES,
  BUDGETS,
  SIGNING_REQUESTS,
  NEW_EVENTS,
  apiServices(groupVersions),
];

/** Groups that hold questions instead of objects. */
export const REVIEW_GROUPS = ['authentication.k8s.io', 'authorization.k8s.io'] as const;

/** Every group with its one version, the core group first. */
export function groupVersions(): readonly { readonly group: string; readonly version: string }[] {
  const groups = new Map<string, { group: string; version: string }>();
  for (const { group, version } of RESOURCES) groups.set(group, { group, version });
  for (const group of REVIEW_GROUPS) groups.set(group, { group, version: 'v1' });
  return [...groups.values()];
}

const byPath = new Map(RESOURCES.map((resource) => [`${apiVersionOf(resource)}/${resource.plural}`, resource]));

/** A resource by `v1` or `apps/v1` and its plural. */
export function resourceAt(apiVersion: string, plural: string): Resource | undefined {
  return byPath.get(`${apiVersion}/${plural}`);
}

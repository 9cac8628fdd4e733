import type { Checker } from '../run.ts';

/** Everything that a rotation asks of Kubernetes. Least rights are written after it. */
const DECLARED: readonly RegExp[] = [
  /^GET \/readyz$/,
  /^GET \/api\/v1\/(nodes|pods|namespaces|configmaps)$/,
  /^(GET|PATCH) \/api\/v1\/nodes\/[^/]+$/,
  /^GET \/api\/v1\/namespaces\/default$/,
  /^GET \/api\/v1\/namespaces\/[^/]+\/pods(\/[^/]+)?$/,
  /^POST \/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/eviction$/,
  /^GET \/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-node-lease\/leases$/,
  /^GET \/apis\/coordination\.k8s\.io\/v1\/namespaces\/kube-system\/leases\/kube-controller-manager$/,
  /^(GET|DELETE) \/api\/v1\/namespaces\/kube-system\/configmaps\/extension-apiserver-authentication$/,
  /^GET \/apis\/apps\/v1\/(replicasets|deployments|daemonsets|statefulsets)$/,
  /^(GET|PATCH) \/apis\/apps\/v1\/namespaces\/[^/]+\/(deployments|daemonsets|statefulsets)\/[^/]+$/,
  /^GET \/apis\/talos\.dev\/v1alpha1\/serviceaccounts$/,
  /^GET \/apis\/policy\/v1\/namespaces\/[^/]+\/poddisruptionbudgets$/,
];

/** S22: nothing outside the declared set is read or written; no Secret of the cluster, above all: only one that a talos.dev ServiceAccount names, and there is none here. */
export function declaredRequests(): Checker {
  let seen = 0;
  return {
    property: 'S22 no deputy',
    check({ faults }) {
      const { requests } = faults.log;
      if (requests.size === seen) return undefined;
      seen = requests.size;
      const other = [...requests].find((request) => !DECLARED.some((each) => each.test(request)));
      return other === undefined ? undefined : `${other} was asked for, which is not declared`;
    },
  };
}

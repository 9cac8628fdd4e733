import { authenticationReset } from '../stages/authentication-reset.ts';
import { rootCaPublished } from '../stages/root-ca-published.ts';
import { workloadsRestarted } from '../stages/workloads-restarted.ts';
import { proveAccepted, proveIssuing, type TargetDescriptor } from './descriptor.ts';

/**
 * The Kubernetes API CA: static pods and kubelets restart at every pass. A kubelet
 * asks for a client certificate of the new CA only when it is told to drop the old
 * one (`talos-behaviour` 3.6), so workers are told before an API server drops it.
 */
export const kubernetes: TargetDescriptor = {
  name: 'kubernetes',
  title: 'Kubernetes API CA',
  concerns: 'all',
  handOff: true,
  restartsApiServer: true,
  restartsKubelet: true,
  rolled: false,
  workersDropFirst: true,
  minimumTalos: [1, 9],
  tooOld: 'VersionUnsupported',
  prove: (input) =>
    (input.role === 'controlplane'
      ? (proveAccepted('kube-apiserver', input.pki.kubernetesAccepted, input) ??
        proveIssuing('the Kubernetes API', input.pki.kubernetesIssuing, input))
      : undefined) ?? proveAccepted('the kubelet', input.pki.kubeletAccepted, input),
  accepted: (pki) => pki.kubernetesAccepted,
  shown: (pki) => [pki.kubernetesIssuing],
  issuing: (pki) => pki.kubernetesIssuing,
  published: 'client',
  warnings: [
    'Pods that read the root CA once, at their start, must be restarted before Dropping: they are listed in Issuing, or restarted for you with --restart-workloads.',
    'Every kubeconfig with a certificate of the old CA stops working in Dropping; the new one is handed over before.',
  ],
  needs: { Issuing: ['rootCa', 'stalePods'], Dropping: ['controllerManager'], Finalizing: ['authentication'] },
  settle: {
    Issuing: [rootCaPublished, workloadsRestarted],
    Finalizing: [authenticationReset],
  },
};

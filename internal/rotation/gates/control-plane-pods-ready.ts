import type { Context } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** kube-apiserver, kube-controller-manager and kube-scheduler pods are Ready: healthy when we say done. */
export function controlPlanePodsReady(context: Context): Blocker | undefined {
  const reading = context.observation.kubernetes.unreadyControlPlanePods;
  if (reading === undefined) return { reason: 'KubernetesUnknown', message: 'control plane pods: not read' };
  if (!reading.known) return { reason: 'KubernetesUnknown', message: `control plane pods: ${reading.message}` };
  if (reading.value.length === 0) return undefined;
  return {
    reason: 'ControlPlanePodNotReady',
    message: `not Ready: ${reading.value.join(', ')}; expected every control plane pod Ready`,
  };
}

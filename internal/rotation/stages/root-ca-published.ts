import type { Context } from '../context.ts';
import { type Decision, waitFor } from '../decision.ts';
import { hold } from '../hold.ts';
import { conditionOf } from './condition.ts';

/** As old as the cluster: where its kube-root-ca.crt is stale again, the old CA was published again. */
const OLDEST_NAMESPACE = 'kube-system';

/** Every namespace's kube-root-ca.crt is the new CA before the old one is dropped: pods started from then on trust the right one. */
export function rootCaPublished(context: Context): Decision | undefined {
  const reading = context.observation.kubernetes.rootCa;
  if (reading === undefined)
    return waitFor({ reason: 'PublishingRootCA', message: 'reading kube-root-ca.crt of every namespace' });
  if (!reading.known)
    return hold(context, { reason: 'KubernetesUnknown', message: `kube-root-ca.crt: ${reading.message}` });
  const { stale, total } = reading.value;
  const published = stale.length === 0;
  const names = stale.length > 5 ? `${stale.slice(0, 5).join(', ')} and ${stale.length - 5} more` : stale.join(', ');
  const message = published
    ? `kube-root-ca.crt is the new CA in all ${total} namespaces`
    : `kube-root-ca.crt is not the new CA in ${stale.length} of ${total} namespaces: ${names}`;
  // The condition keeps the moment: pods that started before it have read the old CA.
  const wasPublished = conditionOf(context, 'RootCaPublished')?.status === 'True';
  // A namespace that was made this moment does not undo it, or its workloads would be restarted again and again.
  if (published ? !wasPublished : wasPublished && stale.includes(OLDEST_NAMESPACE)) {
    return {
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'PublishingRootCA',
      message,
      conditions: [
        { type: 'RootCaPublished', status: published ? 'True' : 'False', reason: 'PublishingRootCA', message },
      ],
    };
  }
  if (published) return undefined;
  // One that was made this moment is not worth a block; one that does not come at all is.
  return wasPublished
    ? waitFor({ reason: 'PublishingRootCA', message })
    : hold(context, { reason: 'PublishingRootCA', message });
}

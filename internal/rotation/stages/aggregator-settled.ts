import { type Context, elapsedSince } from '../context.ts';
import { type Decision, waitFor, waitOut } from '../decision.ts';
import { hold } from '../hold.ts';
import { short } from '../targets/descriptor.ts';
import { conditionOf } from './condition.ts';

/**
 * Before the front-proxy certificate is signed by the new aggregator CA,
 * extension-apiserver-authentication must hold it, and extension API servers get
 * two minutes to read it. The clock is a condition, so it survives a restart.
 */
export function aggregatorSettled(context: Context): Decision | undefined {
  const target = context.targets.find((each) => each.published === 'requestheader');
  const material = target === undefined ? undefined : context.material[target.name];
  const reading = context.observation.kubernetes.authentication;
  if (material === undefined || reading === undefined) {
    return waitFor({ reason: 'SettlingAggregator', message: 'reading extension-apiserver-authentication' });
  }
  if (!reading.known) {
    return hold(context, {
      reason: 'KubernetesUnknown',
      message: `extension-apiserver-authentication: ${reading.message}`,
    });
  }
  const published = reading.value.present && reading.value.requestheader.includes(material.new.fingerprint);
  const condition = conditionOf(context, 'AggregatorAccepted');
  const message = published
    ? `extension-apiserver-authentication holds the new aggregator CA ${short(material.new.fingerprint)}`
    : `extension-apiserver-authentication does not hold the new aggregator CA ${short(material.new.fingerprint)} yet`;
  if ((condition?.status === 'True') !== published) {
    return {
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'SettlingAggregator',
      message,
      conditions: [
        { type: 'AggregatorAccepted', status: published ? 'True' : 'False', reason: 'SettlingAggregator', message },
      ],
    };
  }
  if (!published) return hold(context, { reason: 'SettlingAggregator', message });
  const left = context.settings.aggregatorSettleMs - elapsedSince(context, condition?.lastTransitionTime);
  if (left <= 0) return undefined;
  return waitOut(
    {
      reason: 'SettlingAggregator',
      message: `${message}; extension API servers have ${Math.ceil(left / 1000)} s more to read it`,
    },
    left,
  );
}

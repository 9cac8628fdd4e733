import type { CaStage } from '../../api/v1alpha1/index.ts';
import type { Decision, Effect } from './decision.ts';

/** What the cluster itself is told of a decision; shown as an event of Kubernetes. */
export interface Announcement {
  /** The Node of one machine, or `kube-system`, which stands for the cluster as a whole. */
  readonly regarding: { readonly kind: 'Node' | 'Namespace'; readonly name: string };
  readonly type: 'Normal' | 'Warning';
  /** The decision's. */
  readonly reason: string;
  /** What was done, in CamelCase: the name of the effect, or `Wait`. */
  readonly action: string;
  readonly note: string;
}

const CLUSTER: Announcement['regarding'] = { kind: 'Namespace', name: 'kube-system' };

/**
 * What people who look at the cluster, and not at Ichor, should see of a decision
 * and of what became of it: what was done to a machine, each stage, what holds the
 * rotation up. Waits that go on by themselves are no news to them.
 *
 * @param stage the operation's, after the effect
 */
export function announcementsOf(decision: Decision, stage: CaStage): Announcement[] {
  const { reason, message } = decision;
  if (decision.kind === 'blocked' || reason === 'CallFailed') {
    return [{ regarding: CLUSTER, type: 'Warning', reason, action: 'Wait', note: message }];
  }
  if (decision.kind !== 'act') return [];
  const { effect } = decision;
  const action = inCamelCase(effect.kind);
  const about = (regarding: Announcement['regarding'], note: string): Announcement => ({
    ...{ regarding, type: 'Normal', reason, action, note },
  });
  switch (effect.kind) {
    case 'enter-stage':
      return [about(CLUSTER, `the rotation of certificate authorities is in ${stage}: ${message}`)];
    case 'complete':
    case 'abandon':
    case 'reset-authentication':
    case 'restart-workload':
      return [about(CLUSTER, message)];
    default:
      return machinesOf(effect).map((name) => about({ kind: 'Node', name }, message));
  }
}

/** Empty for what is written to the store alone. */
function machinesOf(effect: Effect): readonly string[] {
  if ('machines' in effect) return effect.machines;
  return 'machine' in effect ? [effect.machine] : [];
}

function inCamelCase(kind: Effect['kind']): string {
  return kind
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

import type { Clock } from '../../pkg/clock/index.ts';
import type { NodeView } from '../../pkg/kube/index.ts';

/** How old the last sign of life of a Node is, whatever its clock says. */
export interface Heartbeats {
  /** Time at which the Node's own clock would be now, to judge its Lease by; milliseconds since the epoch. `now` is ours. */
  nodeTime(node: NodeView, now: number): number;
}

/**
 * Leases carry the time of the machine's clock, which may be minutes off ours. A
 * Lease that was seen to change was renewed since the look before: from then on
 * its age is measured by our monotonic clock alone. Before that, our wall clock has to do.
 */
export function createHeartbeats(clock: Pick<Clock, 'monotonic'>): Heartbeats {
  const seen = new Map<string, { readonly renewedAt: number; readonly changedAt: number | undefined }>();
  return {
    nodeTime(node, now) {
      const { leaseRenewedAt, uid } = node;
      if (leaseRenewedAt === undefined) return now;
      const before = seen.get(uid);
      const isNew = before === undefined || before.renewedAt !== leaseRenewedAt;
      const passed = clock.monotonic();
      const changedAt = before === undefined ? undefined : isNew ? passed : before.changedAt;
      seen.set(uid, { renewedAt: leaseRenewedAt, changedAt });
      return changedAt === undefined ? now : leaseRenewedAt + (passed - changedAt);
    },
  };
}

/**
 * How far the Node's clock is ahead of ours, ms. `nodeTime` is what {@link Heartbeats} made of the same two: the same as `now`
 * while the Lease has not been seen to change, when only one that lies in the future tells anything.
 */
export function clockAheadMs({ leaseRenewedAt }: NodeView, nodeTime: number, now: number): number {
  return Math.max(nodeTime, leaseRenewedAt ?? nodeTime) - now;
}

import { describe, expect, it } from 'vitest';
import type { NodeView } from '../../pkg/kube/index.ts';
import { clockAheadMs, createHeartbeats } from './heartbeats.ts';

/** A clock that shows what it is given. */
function at(passed: number[]) {
  return { monotonic: () => passed.shift() ?? 0 };
}

function aNode(leaseRenewedAt: number | undefined): NodeView {
  return { uid: 'uid-1', leaseRenewedAt } as NodeView;
}

describe('heartbeats', () => {
  it('believes our clock while a Lease was seen only once', () => {
    expect(createHeartbeats(at([5])).nodeTime(aNode(900_000), 1_000_000)).toBe(1_000_000);
  });

  it('measures the age from the change that was seen, although the node is an hour behind', () => {
    const heartbeats = createHeartbeats(at([0, 10_000, 14_000]));
    heartbeats.nodeTime(aNode(400_000), 4_000_000);

    expect(heartbeats.nodeTime(aNode(410_000), 4_010_000)).toBe(410_000);
    expect(heartbeats.nodeTime(aNode(410_000), 4_014_000)).toBe(414_000);
  });

  it('lets a Lease that stopped changing grow old, also when our own clock is put back', () => {
    const heartbeats = createHeartbeats(at([0, 10_000, 40_000]));
    heartbeats.nodeTime(aNode(1_000), 10_000);
    heartbeats.nodeTime(aNode(2_000), 20_000);

    expect(heartbeats.nodeTime(aNode(2_000), 20_000 - 3_600_000) - 2_000).toBe(30_000);
  });

  it('has nothing to add for a Node without a Lease', () => {
    expect(createHeartbeats(at([5])).nodeTime(aNode(undefined), 5)).toBe(5);
  });
});

describe('how far the clock of a Node is ahead', () => {
  it.each([
    ['in the future, seen once', 4_600_000, 1_000_000, 3_600_000],
    ['some time ago, seen once: its kubelet may be dead', 400_000, 1_000_000, 0],
    ['nowhere', undefined, 1_000_000, 0],
  ])('is told by a Lease %s', (_what, renewedAt, now, expected) => {
    const node = aNode(renewedAt);

    expect(clockAheadMs(node, createHeartbeats(at([5])).nodeTime(node, now), now)).toBe(expected);
  });

  it('is told by a change that was seen, also where the Node is behind', () => {
    const heartbeats = createHeartbeats(at([0, 10_000, 14_000]));
    heartbeats.nodeTime(aNode(400_000), 4_000_000);
    const node = aNode(410_000);

    expect(clockAheadMs(node, heartbeats.nodeTime(node, 4_010_000), 4_010_000)).toBe(-3_600_000);
    expect(clockAheadMs(node, heartbeats.nodeTime(node, 4_014_000), 4_014_000)).toBe(-3_600_000);
  });
});

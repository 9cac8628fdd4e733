import { describe, expect, it } from 'vitest';
import { aNode, aNodeLease } from '../../test/builders/kube-objects.ts';
import { startKubeServer } from '../../test/builders/kube-server.ts';
import { listNodes, toNodeView, whyNotReady } from './index.ts';

const NOON = Date.UTC(2026, 10, 5, 12);

describe('the list of nodes', () => {
  it('has each node with its boot ID and the time of its Lease, sorted', async () => {
    await using server = await startKubeServer({
      answer: ({ path }) => ({
        json: {
          items: path.endsWith('/leases')
            ? [aNodeLease('b', '2026-11-05T11:59:55.500000Z', 120)]
            : [
                aNode('b', { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }),
                aNode('a', {
                  metadata: { annotations: { 'ichor.maesh.dev/cordoned-by': 'rotate-1' } },
                  spec: { unschedulable: true },
                }),
              ],
        },
      }),
    });

    const nodes = await listNodes(server.client());

    expect(nodes).toMatchObject([
      { name: 'a', unschedulable: true, cordonedBy: 'rotate-1', isControlPlane: false, leaseRenewedAt: undefined },
      {
        name: 'b',
        bootId: 'boot-of-b',
        ready: 'True',
        heartbeatAt: NOON - 60_000,
        leaseRenewedAt: NOON - 4_500,
        leaseDurationMs: 120_000,
        unschedulable: false,
        isControlPlane: true,
        internalIps: ['10.5.0.2'],
        kubeletVersion: 'v1.37.2',
        osImage: 'Talos (v1.14.1)',
      },
    ]);
    expect(server.seen.map(({ path }) => path).sort()).toEqual([
      '/api/v1/nodes',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
    ]);
  });

  it('shows a node that has never reported as it is', () => {
    expect(
      toNodeView(aNode('new', { status: { conditions: undefined, nodeInfo: undefined } }), undefined),
    ).toMatchObject({
      bootId: '',
      ready: 'Missing',
      heartbeatAt: undefined,
    });
  });
});

describe('a node that says Ready', () => {
  const ready = (leaseRenewedAt: number | undefined) => toNodeView(aNode('cp-1'), leaseRenewedAt);

  it('is believed when its kubelet renewed its Lease a moment ago', () => {
    expect(whyNotReady(ready(NOON - 9_000), { now: NOON })).toBeUndefined();
  });

  it('is not believed when its Lease is old, as right after a power loss', () => {
    expect(whyNotReady(ready(NOON - 31_000), { now: NOON })).toBe(
      'node cp-1 says Ready, but its kubelet renewed its Lease 31 s ago',
    );
  });

  it.each([
    // A kubelet renews its Lease when a quarter of its duration is over.
    [40, 25],
    [20, 25],
    [120, 75],
  ])('is believed for as long as it takes to miss two renewals: a Lease of %i s, %i s', (durationS, untilS) => {
    const node = toNodeView(aNode('cp-1'), NOON - untilS * 1_000, durationS * 1_000);

    expect(whyNotReady(node, { now: NOON })).toBeUndefined();
    expect(whyNotReady(node, { now: NOON + 1_000 })).toContain(`renewed its Lease ${untilS + 1} s ago`);
  });

  it('is not believed when it has not spoken since the boot that is waited for', () => {
    expect(whyNotReady(ready(NOON - 9_000), { now: NOON, since: NOON - 8_000 })).toBe(
      'node cp-1 says Ready from before 2026-11-05T11:59:52.000Z; its kubelet has not spoken since',
    );
  });

  it('is believed when it has spoken since', () => {
    expect(whyNotReady(ready(NOON - 7_999), { now: NOON, since: NOON - 8_000 })).toBeUndefined();
  });

  it('is not believed without a Lease', () => {
    expect(whyNotReady(ready(undefined), { now: NOON })).toBe('node cp-1 says Ready, and its kubelet has no Lease');
  });
});

describe('a node that does not say Ready', () => {
  it('is quoted', () => {
    const conditions = [
      { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting' },
    ];

    expect(whyNotReady(toNodeView(aNode('cp-1', { status: { conditions } }), NOON), { now: NOON })).toBe(
      'node cp-1 is not ready (Ready=Unknown, NodeStatusUnknown: Kubelet stopped posting)',
    );
  });

  it('may have said nothing yet', () => {
    expect(whyNotReady(toNodeView(aNode('cp-1', { status: { conditions: [] } }), NOON), { now: NOON })).toBe(
      'node cp-1 has not reported whether it is ready',
    );
  });
});

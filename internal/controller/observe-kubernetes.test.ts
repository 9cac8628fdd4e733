import { describe, expect, it } from 'vitest';
import { aPod, aWorkload } from '../../test/builders/kube-objects.ts';
import { aCondition, anOperation } from '../../test/builders/rotation.ts';
import { type KubernetesInput, observeKubernetes } from './observe-kubernetes.ts';

/** What is said of a workload with a pod that was made an hour ago, where the new root CA was published ten seconds ago, at 11:59:50. */
async function staleWith(restartedAt: string | undefined, updatedReplicas = 3, madeAt = '2026-11-05T11:00:00Z') {
  const annotations = restartedAt === undefined ? {} : { 'kubectl.kubernetes.io/restartedAt': restartedAt };
  const db = aWorkload('db', { spec: { template: { metadata: { annotations } } }, status: { updatedReplicas } });
  const pod = aPod('db-0', {
    owner: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db' },
    metadata: { creationTimestamp: madeAt },
    status: { containerStatuses: [{ name: 'main', state: { running: { startedAt: madeAt } } }] },
  });
  const request = async ({ path }: { readonly path: string }) =>
    path.endsWith('/statefulsets/db') ? db : { metadata: {}, items: path.endsWith('/pods') ? [pod] : [] };
  const { stalePods } = await observeKubernetes({
    session: { kube: async (_machine: unknown, work: (client: object) => unknown) => work({ request }) },
    ask: [{ name: 'cp1', address: '10.0.0.1' }],
    machines: ['cp1'],
    needs: { stalePods: true },
    operation: anOperation({
      stage: 'Dropping',
      restartWorkloads: 'Rolling',
      conditions: [aCondition('RootCaPublished', 'True', 10)],
    }),
    aheadMs: 0,
    rootCa: undefined,
    talosCas: [],
  } as unknown as KubernetesInput);
  return stalePods?.known === true ? stalePods.value : stalePods;
}

const STALE = { owner: 'default/StatefulSet/db', pods: 1, restartable: true };

describe('a workload with pods that seem to be older than the new root CA', () => {
  it.each([undefined, '2026-11-05T11:59:49Z', 'yesterday'])(
    'is to be restarted where that was asked for %s',
    async (at) => {
      expect(await staleWith(at)).toEqual([STALE]);
    },
  );

  it.each(['2026-11-05T11:59:50Z', '2026-11-05T12:03:00Z'])(
    'is done where a restart of %s is over: its pods are new, and only a clock makes them old',
    async (at) => {
      expect(await staleWith(at)).toEqual([]);
    },
  );

  it.each([
    ['2026-11-05T12:01:49Z', [STALE]],
    ['2026-11-05T12:01:50Z', []],
  ])(
    'is restarted where they were made at %s by an API server whose clock may be two minutes ahead',
    async (at, found) => {
      expect(await staleWith(undefined, 3, at)).toEqual(found);
    },
  );

  it('is waited for while that restart is under way', async () => {
    expect(await staleWith('2026-11-05T11:59:55Z', 1)).toEqual([
      { ...STALE, restart: { message: '1 of 3 pods are new', since: Date.UTC(2026, 10, 5, 11, 59, 55) } },
    ]);
  });
});

describe('pods that are still to be moved', () => {
  it('are not those that tolerate the cordon and came back since: nobody waits for them', async () => {
    const pod = (name: string, creationTimestamp: string) =>
      aPod(name, { metadata: { creationTimestamp }, spec: { tolerations: [{ operator: 'Exists' }] } });
    // The drain began at 11:59:00 by the operation, when the wall clock said 11:59:30.
    const items = [pod('before', '2026-11-05T11:59:29Z'), pod('after', '2026-11-05T11:59:30Z')];
    const input = {
      session: {
        kube: async (_machine: unknown, work: (client: object) => unknown) =>
          work({ request: async () => ({ metadata: {}, items }) }),
        drainHeld: new Map(),
      },
      ask: [{ name: 'cp1', address: '10.0.0.1' }],
      machines: ['cp1'],
      needs: { draining: 'cp1' },
      operation: anOperation({ status: { etcdDraining: 'cp1', drainStartedAt: '2026-11-05T11:59:00.000Z' } }),
      aheadMs: 30_000,
      rootCa: undefined,
      talosCas: [],
    } as unknown as KubernetesInput;

    expect((await observeKubernetes(input)).draining).toEqual({ known: true, value: [{ pod: 'default/before' }] });
  });
});

describe('control plane pods', () => {
  it('are asked for by their label, and not with the thousands of others beside them', async () => {
    const asked: unknown[] = [];
    const pod = (app: string, status: 'True' | 'False') =>
      aPod(`${app}-cp1`, {
        metadata: { labels: { 'k8s-app': app } },
        status: { conditions: [{ type: 'Ready', status }] },
      });
    const request = async ({ path, query }: { readonly path: string; readonly query: object }) => {
      asked.push([path, query]);
      return { metadata: {}, items: [pod('kube-scheduler', 'False'), pod('kube-apiserver', 'True')] };
    };
    const input = {
      session: { kube: async (_machine: unknown, work: (client: object) => unknown) => work({ request }) },
      ask: [{ name: 'cp1', address: '10.0.0.1' }],
      machines: ['cp1'],
      needs: { controlPlanePods: true },
      operation: anOperation(),
      aheadMs: 0,
      rootCa: undefined,
      talosCas: [],
    } as unknown as KubernetesInput;

    expect((await observeKubernetes(input)).unreadyControlPlanePods).toEqual({
      known: true,
      value: ['kube-scheduler-cp1'],
    });
    expect(asked).toEqual([
      [
        '/api/v1/namespaces/kube-system/pods',
        expect.objectContaining({
          labelSelector: 'k8s-app in (kube-apiserver,kube-controller-manager,kube-scheduler)',
        }),
      ],
    ]);
  });
});

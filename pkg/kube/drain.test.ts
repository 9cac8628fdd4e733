import { describe, expect, it } from 'vitest';
import { aPod } from '../../test/builders/kube-objects.ts';
import { type Answer, aStatus, type SeenRequest, startKubeServer } from '../../test/builders/kube-server.ts';
import { drainRound, type PodObject, planDrain } from './index.ts';

const WEB = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1' };
const MIRROR = { annotations: { 'kubernetes.io/config.mirror': 'x' } };

describe('the plan of a drain', () => {
  it('evicts what somebody brings back, and says what nobody brings back and whose data is lost', () => {
    const plan = planDrain([
      aPod('web-1-a', { owner: WEB }),
      aPod('bare', { spec: { volumes: [{ name: 'scratch', emptyDir: {} }] } }),
      aPod('leaving', { owner: WEB, metadata: { deletionTimestamp: '2026-11-05T12:00:00Z' } }),
    ]);

    const at = { namespace: 'default', unmanaged: false, losesData: false, leaving: false };
    expect(plan).toEqual({
      evict: [
        { ...at, name: 'bare', uid: 'uid-of-bare', unmanaged: true, losesData: true },
        { ...at, name: 'leaving', uid: 'uid-of-leaving', leaving: true },
        { ...at, name: 'web-1-a', uid: 'uid-of-web-1-a' },
      ],
      stay: [],
    });
  });

  it('leaves mirror pods and those of DaemonSets', () => {
    const plan = planDrain([
      aPod('kube-apiserver-cp-1', { metadata: MIRROR, owner: { apiVersion: 'v1', kind: 'Node', name: 'cp-1' } }),
      aPod('proxy-a', { owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'proxy' } }),
    ]);

    expect(plan).toEqual({
      evict: [],
      stay: [
        { namespace: 'default', name: 'kube-apiserver-cp-1', why: 'mirror' },
        { namespace: 'default', name: 'proxy-a', why: 'daemon-set' },
      ],
    });
  });
});

describe('a pod that tolerates the cordon', () => {
  const since = Date.UTC(2026, 10, 5, 12, 0, 10);
  const operator = (tolerations: object[], creationTimestamp: string) =>
    aPod('cilium-operator-a', { owner: WEB, metadata: { creationTimestamp }, spec: { tolerations } });
  const evicted = (pod: PodObject, options = { since } as { since?: number }) => planDrain([pod], options).evict.length;
  const everything = { operator: 'Exists' };

  it('stays where it came back after the drain began: it would come back for ever', () => {
    const plan = planDrain([operator([everything], '2026-11-05T12:00:10Z')], { since });

    expect(plan).toEqual({
      evict: [],
      stay: [{ namespace: 'default', name: 'cilium-operator-a', why: 'returned' }],
    });
  });

  it('is evicted where it was there before, or where no drain has begun', () => {
    expect(evicted(operator([everything], '2026-11-05T12:00:09Z'))).toBe(1);
    expect(evicted(operator([everything], '2026-11-05T12:00:10Z'), {})).toBe(1);
  });

  it.each([
    ['the taint by name', { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' }, 0],
    ['the taint by its value', { key: 'node.kubernetes.io/unschedulable', operator: 'Equal' }, 0],
    ['everything that keeps from scheduling', { operator: 'Exists', effect: 'NoSchedule' }, 0],
    ['everything that evicts', { operator: 'Exists', effect: 'NoExecute' }, 1],
    ['another taint', { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }, 1],
    ['nothing', { operator: 'Equal' }, 1],
  ])('is one that tolerates %s', (_what, toleration, count) => {
    expect(evicted(operator([toleration], '2026-11-05T12:01:00Z'))).toBe(count);
  });
});

/** A node of pods; `evict` answers each eviction and may change the pods. */
function aNodeOf(pods: Map<string, PodObject>, evict: (pod: string, request: SeenRequest) => Answer) {
  return (request: SeenRequest): Answer => {
    const pod = /pods\/([^/]+)\/eviction$/.exec(request.path)?.[1];
    if (pod !== undefined) return evict(pod, request);
    return { json: { items: [...pods.values()] } };
  };
}

const ACCEPTED: Answer = { status: 201, json: { kind: 'Status', status: 'Success' } };
const HELD = aStatus(429, 'TooManyRequests', 'Cannot evict pod as it would violate the pod’s disruption budget.', {
  causes: [
    { reason: 'DisruptionBudget', message: 'The disruption budget web-pdb needs 2 healthy pods and has 2 currently' },
  ],
});

function podsNamed(...names: string[]) {
  return new Map(names.map((name) => [name, aPod(name, { owner: WEB })]));
}

const LEAVING = { deletionTimestamp: '2026-11-05T12:00:00Z' };

describe('a round of a drain', () => {
  it('asks once for the eviction of exactly the pods that it saw, and counts them until they are gone', async () => {
    const pods = podsNamed('web-1-b', 'web-1-a');
    const answer = aNodeOf(pods, (pod) => {
      pods.set(pod, aPod(pod, { owner: WEB, metadata: LEAVING }));
      return ACCEPTED;
    });
    await using server = await startKubeServer({ answer });
    const client = server.client();
    const leaving = ['web-1-a', 'web-1-b'].map((name) => ({
      namespace: 'default',
      name,
      why: 'leaving',
      budget: undefined,
      detail: 'in its grace period',
    }));

    expect(await drainRound(client, 'worker-1')).toEqual(leaving);
    expect(await drainRound(client, 'worker-1')).toEqual(leaving);
    pods.clear();
    expect(await drainRound(client, 'worker-1')).toEqual([]);

    expect(server.seen[0]?.query.get('fieldSelector')).toBe('spec.nodeName=worker-1');
    const evictions = server.seen.filter(({ method }) => method === 'POST').map(({ body }) => body);
    expect(evictions).toHaveLength(2);
    expect(evictions).toContainEqual({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'web-1-a', namespace: 'default' },
      deleteOptions: { preconditions: { uid: 'uid-of-web-1-a' } },
    });
  });

  it('names the budget that holds a pod in the words of the server, and asks again in the next round', async () => {
    const pods = podsNamed('web-1-a');
    let asked = 0;
    const answer = aNodeOf(pods, (pod) => {
      asked += 1;
      if (asked < 3) return HELD;
      pods.delete(pod);
      return ACCEPTED;
    });
    await using server = await startKubeServer({ answer });
    const client = server.client();
    const held = {
      namespace: 'default',
      name: 'web-1-a',
      why: 'budget',
      budget: 'web-pdb',
      detail: 'The disruption budget web-pdb needs 2 healthy pods and has 2 currently',
    };

    expect(await drainRound(client, 'worker-1')).toEqual([held]);
    expect(await drainRound(client, 'worker-1')).toEqual([held]);
    expect(await drainRound(client, 'worker-1')).toMatchObject([{ name: 'web-1-a', why: 'leaving' }]);
    expect(await drainRound(client, 'worker-1')).toEqual([]);
  });

  it('names pods that do not end and pods whose eviction is refused, and lets the others go meanwhile', async () => {
    const pods = podsNamed('a', 'b', 'c');
    pods.set('a', aPod('a', { owner: WEB, metadata: LEAVING }));
    const answer = aNodeOf(pods, (pod) => {
      if (pod === 'b') return aStatus(403, 'Forbidden', 'admission webhook "guard" denied the request: not now');
      pods.delete(pod);
      return ACCEPTED;
    });
    await using server = await startKubeServer({ answer });
    const client = server.client();
    const stay = [
      { name: 'a', why: 'leaving' },
      {
        name: 'b',
        why: 'refused',
        budget: undefined,
        detail: 'status 403 Forbidden: admission webhook "guard" denied the request: not now',
      },
    ];

    expect(await drainRound(client, 'worker-1')).toMatchObject([...stay, { name: 'c', why: 'leaving' }]);
    expect(await drainRound(client, 'worker-1')).toMatchObject(stay);
  });

  it('does not take a pod of the same name for the one that it evicted', async () => {
    const pods = new Map([
      ['db-0', aPod('db-0', { owner: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db' } })],
    ]);
    let evictions = 0;
    const answer = aNodeOf(pods, () => {
      evictions += 1;
      if (evictions === 1)
        return aStatus(409, 'Conflict', 'the UID in the precondition does not match', { name: 'db-0' });
      pods.clear();
      return ACCEPTED;
    });
    await using server = await startKubeServer({ answer });
    const client = server.client();

    expect(await drainRound(client, 'worker-1')).toMatchObject([{ name: 'db-0', why: 'leaving' }]);
    expect(await drainRound(client, 'worker-1')).toMatchObject([{ name: 'db-0', why: 'leaving' }]);
    expect(await drainRound(client, 'worker-1')).toEqual([]);
    expect(evictions).toBe(2);
  });

  it.each([
    ['the pods cannot be listed', 'GET'],
    ['an eviction is not answered for who asks', 'POST'],
  ])('throws where %s', async (_what, refused) => {
    const answer = aNodeOf(podsNamed('web-1-a'), () => ACCEPTED);
    await using server = await startKubeServer({
      answer: (request) =>
        request.method === refused ? aStatus(401, 'Unauthorized', 'Unauthorized') : answer(request),
    });

    await expect(drainRound(server.client(), 'worker-1')).rejects.toMatchObject({ kind: 'unauthorized' });
  });
});

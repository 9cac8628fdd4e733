import { describe, expect, it } from 'vitest';
import { aPod } from '../../test/builders/kube-objects.ts';
import { type Answer, aStatus, type SeenRequest, startKubeServer } from '../../test/builders/kube-server.ts';
import { createManualClock, passTime } from '../../test/builders/manual-clock.ts';
import { drainNode, type PodObject, planDrain } from './index.ts';

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

describe('a drain', () => {
  it('asks for the eviction of exactly the pods that it saw, and waits until they are gone', async () => {
    const clock = createManualClock();
    const pods = podsNamed('web-1-a', 'web-1-b');
    const answer = aNodeOf(pods, (pod) => {
      pods.set(pod, aPod(pod, { owner: WEB, metadata: { deletionTimestamp: '2026-11-05T12:00:00Z' } }));
      return ACCEPTED;
    });
    await using server = await startKubeServer({ answer });

    const draining = drainNode({ ...server.client(), clock }, { node: 'worker-1', deadlineMs: 60_000 });
    await clock.whenSleeping();
    pods.clear();
    const result = await passTime(clock, draining);

    expect(result).toMatchObject({ done: true });
    expect(server.seen[0]?.query.get('fieldSelector')).toBe('spec.nodeName=worker-1');
    const evictions = server.seen.filter(({ method }) => method === 'POST').map(({ body }) => body);
    expect(evictions).toContainEqual({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'web-1-a', namespace: 'default' },
      deleteOptions: { preconditions: { uid: 'uid-of-web-1-a' } },
    });
  });

  it('asks again for a pod that a budget holds, and gets it when the budget allows', async () => {
    const clock = createManualClock();
    const pods = podsNamed('web-1-a');
    let asked = 0;
    const answer = aNodeOf(pods, (pod) => {
      asked += 1;
      if (asked < 3) return HELD;
      pods.delete(pod);
      return ACCEPTED;
    });
    await using server = await startKubeServer({ answer });

    const result = await passTime(
      clock,
      drainNode({ ...server.client(), clock }, { node: 'worker-1', deadlineMs: 60_000 }),
    );

    expect(result).toEqual({ done: true, rounds: 4 });
  });

  it('gives up at its deadline and names the pod and the budget that holds it', async () => {
    const clock = createManualClock();
    await using server = await startKubeServer({ answer: aNodeOf(podsNamed('web-1-a'), () => HELD) });

    const result = await passTime(
      clock,
      drainNode({ ...server.client(), clock }, { node: 'worker-1', deadlineMs: 20_000 }),
    );

    expect(result).toMatchObject({
      done: false,
      message:
        'draining the node worker-1 did not finish within 20 s; still there: default/web-1-a (PodDisruptionBudget web-pdb: The disruption budget web-pdb needs 2 healthy pods and has 2 currently)',
    });
  });

  it('names pods that do not end and pods whose eviction is refused, and lets the others go meanwhile', async () => {
    const clock = createManualClock();
    const pods = podsNamed('a', 'b', 'c');
    pods.set('a', aPod('a', { owner: WEB, metadata: { deletionTimestamp: '2026-11-05T12:00:00Z' } }));
    const answer = aNodeOf(pods, (pod) => {
      if (pod === 'b') return aStatus(403, 'Forbidden', 'admission webhook "guard" denied the request: not now');
      pods.delete(pod);
      return ACCEPTED;
    });
    await using server = await startKubeServer({ answer });

    const result = await passTime(
      clock,
      drainNode({ ...server.client(), clock }, { node: 'worker-1', deadlineMs: 5_000 }),
    );

    expect(result).toMatchObject({
      done: false,
      left: [
        { name: 'a', why: 'leaving' },
        {
          name: 'b',
          why: 'refused',
          detail: 'status 403 Forbidden: admission webhook "guard" denied the request: not now',
        },
      ],
    });
  });

  it('does not take a pod of the same name for the one that it evicted', async () => {
    const clock = createManualClock();
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

    const result = await passTime(
      clock,
      drainNode({ ...server.client(), clock }, { node: 'worker-1', deadlineMs: 60_000 }),
    );

    expect([result, evictions]).toEqual([{ done: true, rounds: 3 }, 2]);
  });

  it('throws when the API server cannot be asked', async () => {
    await using server = await startKubeServer({ answer: () => aStatus(401, 'Unauthorized', 'Unauthorized') });

    await expect(drainNode(server.client(), { node: 'worker-1', deadlineMs: 1_000 })).rejects.toMatchObject({
      kind: 'unauthorized',
    });
  });

  it('stops when it is told to', async () => {
    await using server = await startKubeServer({ answer: aNodeOf(podsNamed('web-1-a'), () => HELD) });
    const stop = new AbortController();

    const draining = drainNode(server.client(), {
      node: 'worker-1',
      deadlineMs: 60_000,
      signal: stop.signal,
      onRound: () => stop.abort(new Error('detached')),
    });

    await expect(draining).rejects.toThrow('detached');
  });
});

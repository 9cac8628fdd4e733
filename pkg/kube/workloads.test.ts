import { describe, expect, it } from 'vitest';
import { aMeta, aWorkload } from '../../test/builders/kube-objects.ts';
import { type Answer, aStatus, type SeenRequest, startKubeServer } from '../../test/builders/kube-server.ts';
import { createManualClock, passTime } from '../../test/builders/manual-clock.ts';
import {
  type RestartOutcome,
  restartAskedAt,
  restartWorkloads,
  rolloutState,
  selects,
  whyNotRestartable,
} from './index.ts';

describe('a rollout', () => {
  it('is done when every pod is new and available', () => {
    expect(rolloutState('Deployment', aWorkload('web'))).toEqual({ done: true });
  });

  it.each([
    [{ observedGeneration: 1 }, 'its controller has not seen the change yet'],
    [{ updatedReplicas: 1 }, '1 of 3 pods are new'],
    [{ replicas: 4 }, '1 old pods are still there'],
    [{ availableReplicas: 2 }, '2 of 3 new pods are available'],
  ])('is not done with %j', (status, message) => {
    expect(rolloutState('Deployment', aWorkload('web', { status }))).toEqual({ done: false, message });
  });

  it('of a DaemonSet counts the nodes that it should be on', () => {
    const status = { desiredNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 3 };

    expect(rolloutState('DaemonSet', aWorkload('agent', { spec: { replicas: undefined }, status }))).toEqual({
      done: false,
      message: '3 of 4 new pods are available',
    });
  });

  it('says when it was asked for, and nothing where another change began it', () => {
    const annotations = { 'kubectl.kubernetes.io/restartedAt': '2026-11-05T12:00:00Z' };

    expect(restartAskedAt(aWorkload('web', { spec: { template: { metadata: { annotations } } } }))).toBe(
      Date.UTC(2026, 10, 5, 12),
    );
    expect(restartAskedAt(aWorkload('web'))).toBeUndefined();
  });

  it('of a workload without pods is done', () => {
    const none = { replicas: 0, updatedReplicas: 0, availableReplicas: 0 };

    expect(rolloutState('Deployment', aWorkload('web', { spec: { replicas: 0 }, status: none }))).toEqual({
      done: true,
    });
  });

  it.each([
    [{ paused: true }, 'its rollouts are paused'],
    [{ updateStrategy: { type: 'OnDelete' } }, 'it replaces a pod only when somebody deletes it (OnDelete)'],
    [{ updateStrategy: { type: 'RollingUpdate' } }, undefined],
  ])('would with %j: %s', (spec, message) => {
    expect(whyNotRestartable(aWorkload('web', { spec }))).toBe(message);
  });
});

describe('a label selector', () => {
  const labels = { app: 'web', tier: 'front' };

  it.each([
    [undefined, false],
    [null, false],
    [{}, true],
    [{ matchLabels: { app: 'web' } }, true],
    [{ matchLabels: { app: 'web', tier: 'back' } }, false],
    [{ matchExpressions: [{ key: 'tier', operator: 'In', values: ['front', 'back'] }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['front'] }] }, false],
    [{ matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }, true],
    [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }, false],
    [{ matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }] }, true],
    [{ matchLabels: { app: 'web' }, matchExpressions: [{ key: 'zone', operator: 'Exists' }] }, false],
  ] as const)('%j picks a pod of app=web, tier=front: %s', (selector, picked) => {
    expect(selects(selector, labels)).toBe(picked);
  });
});

/** Workloads by name; `budgets` are listed at each asking, one answer after the other and then the last one again. */
function aCluster(workloads: Record<string, object[]>, budgets: object[][] = [[]]) {
  let asked = 0;
  const reads: Record<string, number> = {};
  return ({ path, method }: SeenRequest): Answer => {
    if (path.endsWith('/poddisruptionbudgets')) {
      asked += 1;
      return { json: { items: budgets[Math.min(asked, budgets.length) - 1] } };
    }
    const name = path.split('/').at(-1) ?? '';
    const states = workloads[name];
    if (states === undefined) return aStatus(404, 'NotFound', `deployments "${name}" not found`, { name });
    if (method === 'PATCH') return { json: states[0] };
    reads[name] = (reads[name] ?? 0) + 1;
    return { json: states[Math.min(reads[name], states.length) - 1] };
  };
}

function aBudget(disruptionsAllowed: number) {
  return {
    metadata: aMeta('web-pdb', { generation: 1 }),
    spec: { selector: { matchLabels: { app: 'web' } } },
    status: { disruptionsAllowed, currentHealthy: 2, desiredHealthy: 2, observedGeneration: 1 },
  };
}

async function restartAll(answer: (request: SeenRequest) => Answer, names: readonly string[], atOnce = 1) {
  const clock = createManualClock(Date.UTC(2026, 10, 5, 12));
  await using server = await startKubeServer({ answer });
  const order: string[] = [];
  const workloads = names.map((name) => ({ kind: 'Deployment', namespace: 'default', name }) as const);
  const outcomes: readonly RestartOutcome[] = await passTime(
    clock,
    restartWorkloads(
      { ...server.client(), clock },
      { workloads, atOnce, deadlineMs: 30_000, onOutcome: ({ workload }) => order.push(workload.name) },
    ),
  );
  const results = outcomes.map((outcome) =>
    'message' in outcome ? `${outcome.result}: ${outcome.message}` : outcome.result,
  );
  return { results, order, patches: server.seen.filter(({ method }) => method === 'PATCH') };
}

describe('restarting workloads', () => {
  it('starts a rollout with the annotation of kubectl and waits until it is done', async () => {
    const states = [aWorkload('web'), aWorkload('web', { status: { updatedReplicas: 1 } }), aWorkload('web')];

    const { results, patches } = await restartAll(aCluster({ web: states }), ['web']);

    expect(results).toEqual(['restarted']);
    expect(patches).toMatchObject([
      {
        path: '/apis/apps/v1/namespaces/default/deployments/web',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: {
          spec: {
            template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': '2026-11-05T12:00:00Z' } } },
          },
        },
      },
    ]);
  });

  it('does not start while a budget over its pods allows no disruption', async () => {
    const budgets = [[aBudget(0)], [aBudget(0)], [aBudget(1)]];

    const { results, patches } = await restartAll(aCluster({ web: [aWorkload('web')] }, budgets), ['web']);

    expect(results).toEqual(['restarted']);
    // Two more askings, two seconds apart, before it began.
    expect(JSON.stringify(patches[0]?.body)).toContain('2026-11-05T12:00:04Z');
  });

  it('gives up on one that a budget holds, says which, and goes on with the next', async () => {
    const cluster = aCluster({ web: [aWorkload('web')], api: [aWorkload('api')] }, [[aBudget(0)]]);

    const { results, patches } = await restartAll(cluster, ['web', 'api']);

    expect(results).toEqual(['held: PodDisruptionBudget web-pdb: it needs 2 healthy pods and has 2', 'restarted']);
    expect(patches).toHaveLength(1);
  });

  it('does not believe a budget whose status is older than itself', async () => {
    const stale = { ...aBudget(1), metadata: aMeta('web-pdb', { generation: 2 }) };

    const { results } = await restartAll(aCluster({ web: [aWorkload('web')] }, [[stale]]), ['web']);

    expect(results).toEqual(['held: PodDisruptionBudget web-pdb: its status is not up to date']);
  });

  it('tells what became of the others: gone, nothing to replace, stuck', async () => {
    const cluster = aCluster({
      manual: [aWorkload('manual', { spec: { updateStrategy: { type: 'OnDelete' } } })],
      slow: [aWorkload('slow'), aWorkload('slow', { status: { availableReplicas: 2 } })],
    });

    const { results } = await restartAll(cluster, ['gone', 'manual', 'slow']);

    expect(results).toEqual([
      'gone',
      'skipped: it replaces a pod only when somebody deletes it (OnDelete)',
      'stuck: 2 of 3 new pods are available',
    ]);
  });

  it('keeps no more rollouts going than it may, and starts the next as soon as one is done', async () => {
    const slow = aWorkload('slow', { status: { availableReplicas: 2 } });
    const cluster = aCluster({
      slow: [aWorkload('slow'), slow, slow, slow, aWorkload('slow')],
      b: [aWorkload('b')],
      c: [aWorkload('c')],
    });

    const { results, order } = await restartAll(cluster, ['slow', 'b', 'c'], 2);

    expect(results).toEqual(['restarted', 'restarted', 'restarted']);
    expect(order).toEqual(['b', 'c', 'slow']);
  });
});

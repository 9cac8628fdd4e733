import { describe, expect, it } from 'vitest';
import { aMeta, aWorkload } from '../../test/builders/kube-objects.ts';
import { aStatus, startKubeServer } from '../../test/builders/kube-server.ts';
import {
  exhaustedBudget,
  readWorkload,
  restartAskedAt,
  restartWorkload,
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
    const odd = { 'kubectl.kubernetes.io/restartedAt': 'yesterday' };
    expect(
      restartAskedAt(aWorkload('web', { spec: { template: { metadata: { annotations: odd } } } })),
    ).toBeUndefined();
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

describe('restarting a workload', () => {
  it.each([
    ['Deployment', 'deployments'],
    ['StatefulSet', 'statefulsets'],
    ['DaemonSet', 'daemonsets'],
  ] as const)(
    'patches the template of a %s with the annotation of kubectl and the time that it is given',
    async (kind, plural) => {
      await using server = await startKubeServer({ answer: () => ({ json: aWorkload('web') }) });

      await restartWorkload(server.client(), { kind, namespace: 'default', name: 'web' }, Date.UTC(2026, 10, 5, 12));

      expect(server.seen).toMatchObject([
        {
          method: 'PATCH',
          path: `/apis/apps/v1/namespaces/default/${plural}/web`,
          headers: { 'content-type': 'application/merge-patch+json' },
          body: {
            spec: {
              template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': '2026-11-05T12:00:00Z' } } },
            },
          },
        },
      ]);
    },
  );

  it('that is gone is an error that says so', async () => {
    const gone = aStatus(404, 'NotFound', 'deployments.apps "web" not found', { name: 'web' });
    await using server = await startKubeServer({ answer: () => gone });
    const client = server.client();
    const web = { kind: 'Deployment', namespace: 'default', name: 'web' } as const;

    await expect(readWorkload(client, web)).rejects.toMatchObject({ kind: 'not-found' });
    await expect(restartWorkload(client, web, 0)).rejects.toMatchObject({ kind: 'not-found' });
  });
});

/** A budget over the pods of app=web. */
function aBudget(name: string, disruptionsAllowed: number, overrides: { metadata?: object; status?: undefined } = {}) {
  return {
    metadata: aMeta(name, { generation: 1, ...overrides.metadata }),
    spec: { selector: { matchLabels: { app: 'web' } } },
    status: { disruptionsAllowed, currentHealthy: 2, desiredHealthy: 2, observedGeneration: 1 },
    ...('status' in overrides ? { status: overrides.status } : {}),
  };
}

async function heldBy(workload: string, budgets: readonly object[]) {
  await using server = await startKubeServer({ answer: () => ({ json: { items: budgets } }) });
  const budget = await exhaustedBudget(server.client(), 'default', aWorkload(workload));
  return { budget, asked: server.seen.map(({ path }) => path) };
}

describe('the budgets of a namespace', () => {
  it('do not hold a workload where each allows a disruption', async () => {
    expect(await heldBy('web', [aBudget('web-pdb', 1)])).toEqual({
      budget: undefined,
      asked: ['/apis/policy/v1/namespaces/default/poddisruptionbudgets'],
    });
  });

  it('hold it where one of them allows none, which is named with its numbers', async () => {
    const { budget } = await heldBy('web', [aBudget('lenient', 1), aBudget('web-pdb', 0)]);

    expect(budget).toEqual({ name: 'web-pdb', message: 'it needs 2 healthy pods and has 2' });
  });

  it('hold no workload whose pods they do not cover', async () => {
    expect((await heldBy('api', [aBudget('web-pdb', 0)])).budget).toBeUndefined();
  });

  it.each([
    ['is older than itself', aBudget('web-pdb', 1, { metadata: { generation: 2 } })],
    ['is not there yet', aBudget('web-pdb', 1, { status: undefined })],
  ])('are not believed where the status of one %s', async (_what, budget) => {
    expect((await heldBy('web', [budget])).budget).toEqual({
      name: 'web-pdb',
      message: 'its status is not up to date',
    });
  });
});

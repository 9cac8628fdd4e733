import { describe, expect, it } from 'vitest';
import { aMeta, aPod } from '../../test/builders/kube-objects.ts';
import { startKubeServer } from '../../test/builders/kube-server.ts';
import { listStalePods } from './index.ts';

const NOON = Date.UTC(2026, 10, 5, 12);
const APPS = 'apps/v1';

async function staleOf(pods: readonly object[], startedBefore = NOON + 1) {
  await using server = await startKubeServer({
    answer: ({ path }) => ({
      json: {
        items: path.endsWith('/replicasets')
          ? [
              {
                metadata: aMeta('web-1', {
                  namespace: 'default',
                  ownerReferences: [{ apiVersion: APPS, kind: 'Deployment', name: 'web', uid: 'd', controller: true }],
                }),
              },
              { metadata: aMeta('lone-rs', { namespace: 'default' }) },
            ]
          : pods,
      },
    }),
  });
  return { groups: await listStalePods(server.client(), { startedBefore }), seen: server.seen };
}

describe('pods that started before a moment', () => {
  it('are none that were made after it, whatever the clock of their node says: they would be restarted for ever', async () => {
    const started = {
      containerStatuses: [{ name: 'main', state: { running: { startedAt: '2026-11-05T11:50:00Z' } } }],
    };
    const made = (creationTimestamp: string) => aPod('web', { metadata: { creationTimestamp }, status: started });

    expect((await staleOf([made('2026-11-05T12:00:00Z')], NOON)).groups).toEqual([]);
    expect((await staleOf([made('2026-11-05T11:59:59Z')], NOON)).groups).toHaveLength(1);
  });

  it('are those as well whose containers started again soon after: the kubelet takes a while to write the new file', async () => {
    const again = (startedAt: string) =>
      aPod('web', { status: { containerStatuses: [{ name: 'main', state: { running: { startedAt } } }] } });

    expect((await staleOf([again('2026-11-05T12:01:59Z')], NOON)).groups).toHaveLength(1);
    expect((await staleOf([again('2026-11-05T12:02:00Z')], NOON)).groups).toEqual([]);
  });

  it('are grouped by what brings them back', async () => {
    const { groups } = await staleOf([
      aPod('web-1-b', { owner: { apiVersion: APPS, kind: 'ReplicaSet', name: 'web-1' } }),
      aPod('web-1-a', { owner: { apiVersion: APPS, kind: 'ReplicaSet', name: 'web-1' } }),
      aPod('lone-a', { owner: { apiVersion: APPS, kind: 'ReplicaSet', name: 'lone-rs' } }),
      aPod('db-0', { owner: { apiVersion: APPS, kind: 'StatefulSet', name: 'db' } }),
      aPod('agent-x', { owner: { apiVersion: APPS, kind: 'DaemonSet', name: 'agent' } }),
      aPod('backup-1', { owner: { apiVersion: 'batch/v1', kind: 'Job', name: 'backup' } }),
      aPod('canary-a', { owner: { apiVersion: 'argoproj.io/v1alpha1', kind: 'ReplicaSet', name: 'canary' } }),
      aPod('bare'),
    ]);

    const at = { namespace: 'default', oldestStartAt: NOON };
    expect(groups).toEqual([
      { ...at, owner: 'DaemonSet', name: 'agent', pods: ['agent-x'], restartable: true },
      { ...at, owner: 'Deployment', name: 'web', pods: ['web-1-a', 'web-1-b'], restartable: true },
      { ...at, owner: 'Job', name: 'backup', pods: ['backup-1'], restartable: false },
      { ...at, owner: 'Other', name: 'ReplicaSet/canary', pods: ['canary-a'], restartable: false },
      { ...at, owner: 'Pod', name: 'bare', pods: ['bare'], restartable: false },
      { ...at, owner: 'ReplicaSet', name: 'lone-rs', pods: ['lone-a'], restartable: false },
      { ...at, owner: 'StatefulSet', name: 'db', pods: ['db-0'], restartable: true },
    ]);
  });

  it('are judged by their oldest running container, as each reads its files at its own start', async () => {
    const restarted = (name: string, ...starts: string[]) =>
      aPod(name, {
        status: { containerStatuses: starts.map((startedAt) => ({ name, state: { running: { startedAt } } })) },
      });

    const { groups } = await staleOf(
      [
        restarted('both-new', '2026-11-05T12:02:05Z', '2026-11-05T12:02:06Z'),
        restarted('one-old', '2026-11-05T12:02:05Z', '2026-11-05T11:00:00Z'),
        restarted('not-started-yet'),
      ],
      NOON + 1,
    );

    expect(groups.map(({ name, oldestStartAt }) => [name, oldestStartAt])).toEqual([['one-old', NOON - 3_600_000]]);
  });

  it('do not count when they have no use for the root CA or are at their end', async () => {
    const { groups } = await staleOf([
      aPod('no-token', { spec: { volumes: [] } }),
      aPod('static', { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } }),
      aPod('finished', { status: { phase: 'Succeeded' } }),
      aPod('leaving', { metadata: { deletionTimestamp: '2026-11-05T12:00:00Z' } }),
    ]);

    expect(groups).toEqual([]);
  });

  it('count when they mount the ConfigMap directly', async () => {
    const { groups } = await staleOf([
      aPod('direct', { spec: { volumes: [{ name: 'ca', configMap: { name: 'kube-root-ca.crt' } }] } }),
    ]);

    expect(groups).toHaveLength(1);
  });

  it('cost no list of ReplicaSets where none is needed', async () => {
    const { seen } = await staleOf([aPod('bare')]);

    expect(seen.map(({ path }) => path)).toEqual(['/api/v1/pods']);
  });
});

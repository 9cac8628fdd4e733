import { expect, it } from 'vitest';
import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import { aMeta, aNode, aPod } from '../../../test/builders/kube-objects.ts';
import { type Answer, aStatus, type SeenRequest, startKubeServer } from '../../../test/builders/kube-server.ts';
import type { ListedMachine } from '../../controller/index.ts';
import { checkKubernetes, type KubeDryRunOptions, kubeDryRunText } from './dry-run-kubernetes.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const WEB = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1' };
const PLANES = ['cp1', 'cp2'].map((name) => ({ name, address: '127.0.0.1', role: 'controlplane' }));
const plan = {
  podsToRestart: [
    { owner: 'default/Deployment/web', pods: ['web-1-a'], restartable: true },
    { owner: 'default/Job/once', pods: ['once-1'], restartable: false },
  ],
};

/** Two control planes: pods on the first, one of them behind a budget; somebody cordoned the second, and a webhook keeps it. */
function answer({ method, path, query }: SeenRequest): Answer {
  if (method !== 'GET' && query.get('dryRun') !== 'All') throw new Error(`${method} ${path} is no dry run`);
  if (path.endsWith('/web-1-a/eviction')) {
    const message = 'The disruption budget web-pdb needs 2 healthy pods and has 2 currently';
    return aStatus(429, 'TooManyRequests', 'Cannot evict', { causes: [{ reason: 'DisruptionBudget', message }] });
  }
  if (path.endsWith('/web-1-b/eviction')) return { status: 201, json: { kind: 'Status', status: 'Success' } };
  if (path === '/api/v1/pods') {
    const pods = ['web-1-a', 'web-1-b'].map((name) => aPod(name, { owner: WEB }));
    return { json: { items: query.get('fieldSelector') === 'spec.nodeName=cp1' ? pods : [] } };
  }
  if (path === '/api/v1/nodes/cp1') return { json: aNode('cp1') };
  if (path === '/api/v1/nodes/cp2') return { json: aNode('cp2', { spec: { unschedulable: true } }) };
  if (method === 'DELETE') return aStatus(403, 'Forbidden', 'admission webhook "guard" denied the request: not now');
  return { json: { metadata: aMeta('extension-apiserver-authentication', { uid: 'uid-1' }), data: {} } };
}

async function check(request: KubeDryRunOptions['request']) {
  await using server = await startKubeServer({ answer });
  const client = server.client();
  const session = { kube: (_plane: unknown, work: (of: typeof client) => unknown) => work(client) };
  const view = {
    session,
    controlPlanes: async () => PLANES as ListedMachine[],
  } as unknown as KubeDryRunOptions['view'];
  const results = await checkKubernetes({ view, request, plan, now: NOW });
  return { lines: results.map(kubeDryRunText), changes: server.seen.filter(({ method }) => method !== 'GET').length };
}

it('has an API server check everything that a rotation will ask for, and says what is in the way', async () => {
  const { lines, changes } = await check({ targets: CA_TARGETS, restartWorkloads: 'Rolling' });

  expect(lines).toEqual([
    'cp1: may be cordoned',
    'cp1: drain: default/web-1-a is held by PodDisruptionBudget web-pdb: The disruption budget web-pdb needs 2 healthy pods and has 2 currently',
    'cp2: cordon: somebody cordoned it already; it stays so after its reboot',
    'cp2: may be drained',
    expect.stringMatching(
      /^kube-system\/extension-apiserver-authentication: reset-authentication: .*admission webhook "guard" denied the request: not now$/,
    ),
    'default/Deployment/web: may be restarted',
  ]);
  expect(changes).toBe(5);
});

it('asks for nothing that the rotation of these targets will not do', async () => {
  expect(await check({ targets: ['talos'], restartWorkloads: 'Never' })).toEqual({ lines: [], changes: 0 });
  expect((await check({ targets: ['kubernetes'], restartWorkloads: 'Never' })).lines).toEqual([
    expect.stringMatching(/^kube-system\/extension-apiserver-authentication: reset-authentication: /),
  ]);
});

import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  cordonNode,
  createEvent,
  createLease,
  deleteAggregatorAuth,
  drainRound,
  isKubeError,
  type KubeClient,
  listApiServices,
  listNodes,
  listRootCas,
  listTalosAccess,
  mayI,
  readAggregatorAuth,
  readApiServerHealth,
  readLease,
  uncordonNode,
  updateLease,
  whoAmI,
} from '../../pkg/kube/index.ts';
import {
  type Certificate,
  createCa,
  frontProxyClientProfile,
  issueLeaf,
  kubernetesAdminProfile,
  probeProfile,
  toPkcs8,
} from '../../pkg/pki/index.ts';
import { aKubeLab, type KubeLab } from '../../test/builders/kube-lab.ts';
import { untilListening } from './listening.ts';

describe('the Kubernetes API of a lab', () => {
  let lab: KubeLab;
  let client: KubeClient;

  beforeAll(async () => {
    lab = await aKubeLab({ block: 1, controlPlanes: 3, workers: 1 });
    client = lab.client('cp1');
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  it('shows the machines as Nodes with their Leases', async () => {
    const nodes = await listNodes(client);

    expect(nodes.map(({ name, ready, isControlPlane }) => [name, ready, isControlPlane])).toEqual([
      ['cp1', 'True', true],
      ['cp2', 'True', true],
      ['cp3', 'True', true],
      ['w1', 'True', false],
    ]);
    expect(nodes.every(({ leaseRenewedAt }) => Date.now() - (leaseRenewedAt ?? 0) < 25_000)).toBe(true);
  });

  it('is ready, live and knows its user', async () => {
    expect(await readApiServerHealth(client)).toEqual({ ready: true, failing: [] });
    expect(await whoAmI(client)).toEqual({ user: 'admin', groups: ['system:masters', 'system:authenticated'] });
    expect(await mayI(client, { verb: 'delete', group: '', resource: 'nodes' })).toEqual({ allowed: true, reason: '' });
  });

  it('cordons, drains behind a budget and uncordons', async () => {
    const [web] = lab.lab.world.kubernetes.workloads.pods.filter((pod) => pod.app === 'web');
    const node = web?.node ?? '';

    expect(await cordonNode(client, { node, owner: 'test' })).toBe('cordoned');
    await expect.poll(() => drainRound(client, node), { timeout: 10_000, interval: 100 }).toEqual([]);
    expect(lab.lab.world.kubernetes.workloads.pods.filter((pod) => pod.node === node).map((pod) => pod.owner)).toEqual([
      'DaemonSet',
    ]);
    expect(await uncordonNode(client, { node, owner: 'test' })).toBe('uncordoned');
  });

  it('only checks what is asked for as a dry run, wherever the request says so', async () => {
    const { workloads } = lab.lab.world.kubernetes;
    // The test before may have evicted the other one, which comes back when it does.
    const [dns] = workloads.pods.filter((pod) => pod.app === 'coredns' && !pod.leaving);
    const path = `/api/v1/namespaces/kube-system/pods/${dns?.name}`;
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: dns?.name } };
    const evict = {
      method: 'POST',
      path: `${path}/eviction`,
      contentType: 'application/json',
      doing: 'evict',
    } as const;
    const inBody = { dryRun: ['All'] };

    await client.request({ ...evict, body: eviction, query: { dryRun: 'All' } });
    // As `kubectl drain` and `kubectl delete` ask for it with --dry-run=server.
    await client.request({ ...evict, body: { ...eviction, deleteOptions: inBody } });
    await client.request({ method: 'DELETE', path, body: inBody, contentType: 'application/json', doing: 'delete' });

    expect(workloads.pods.find((pod) => pod.name === dns?.name)?.leaving).toBe(false);
  });

  it('lets nobody write over what somebody else wrote meanwhile', async () => {
    const of = { namespace: 'default', name: 'ichor' };
    const at = Date.parse('2026-11-30T00:00:00Z');
    const spec = { holder: 'a', durationMs: 15_000, acquiredAt: at, renewedAt: at, transitions: 0 };
    const created = await createLease(client, of, spec);

    const updated = await updateLease(client, created, { ...spec, holder: 'b' });

    expect(updated.holder).toBe('b');
    expect(BigInt(updated.resourceVersion)).toBeGreaterThan(BigInt(created.resourceVersion));
    await expect(updateLease(client, created, { ...spec, holder: 'c' })).rejects.toMatchObject({ kind: 'conflict' });
    await expect(createLease(client, of, spec)).rejects.toMatchObject({ kind: 'already-exists' });
    // What one API server stored is read through any other: storage is etcd's.
    expect((await readLease(lab.client('cp2'), of))?.holder).toBe('b');
  });

  it('answers what a rotation reads', async () => {
    expect((await listRootCas(client)).map(({ namespace, fingerprints }) => [namespace, fingerprints])).toEqual(
      ['default', 'kube-node-lease', 'kube-public', 'kube-system'].map((namespace) => [
        namespace,
        [lab.bundle.kubernetes.certificate.fingerprint],
      ]),
    );
    expect((await readAggregatorAuth(client))?.requestHeaderCas).toEqual([
      lab.bundle.aggregator.certificate.fingerprint,
    ]);
    expect((await listApiServices(client)).every(({ available }) => available)).toBe(true);
    expect(await listTalosAccess(client)).toEqual([]);
    await expect(
      createEvent(client, {
        regarding: { apiVersion: 'v1', kind: 'Node', name: 'w1', namespace: '' },
        type: 'Normal',
        reason: 'Rotated',
        action: 'Rotate',
        note: 'done',
        at: Date.now(),
        instance: 'test',
      }),
    ).resolves.toBeUndefined();
  });

  it('writes the authentication map anew when it is deleted', async () => {
    const before = await readAggregatorAuth(client);

    expect(await deleteAggregatorAuth(client, 'another')).toBe('already-gone');
    expect(await deleteAggregatorAuth(client, before?.uid ?? '')).toBe('deleted');
    await lab.until(() => lab.lab.world.kubernetes.authentication !== undefined);

    expect((await readAggregatorAuth(client))?.uid).not.toBe(before?.uid);
  });

  it('sends every change to whoever watches, in order and through another API server too', async () => {
    const stop = new AbortController();
    const { metadata } = await client.request<{ metadata: { resourceVersion: string } }>({
      method: 'GET',
      path: '/api/v1/namespaces/default/configmaps',
      doing: 'list',
    });
    const seen: string[] = [];
    const watching = (async () => {
      const events = lab.client('cp2').watch<{ metadata: { name: string }; data?: { n?: string } }>({
        path: '/api/v1/namespaces/default/configmaps',
        resourceVersion: metadata.resourceVersion,
        doing: 'watch',
        signal: stop.signal,
      });
      for await (const { type, object } of events) {
        if (type === 'BOOKMARK') continue;
        seen.push(`${type} ${object.metadata.name} ${object.data?.n}`);
        if (type === 'DELETED') return;
      }
    })();

    await writeMap(client, 'POST', '1');
    await writeMap(client, 'PATCH', '2');
    await writeMap(client, 'DELETE');
    await watching;

    expect(seen).toEqual(['ADDED watched 1', 'MODIFIED watched 2', 'DELETED watched 2']);
    stop.abort();
  });

  it('tells whoever watches from a version that is forgotten to list again', async () => {
    const watching = async (): Promise<void> => {
      const events = client.watch({ path: '/api/v1/nodes', resourceVersion: '1', doing: 'watch' });
      for await (const event of events) throw new Error(`${event.type} was not expected`);
    };

    await expect(watching()).rejects.toMatchObject({ kind: 'expired' });
  });

  it('takes users of its client CA, front proxies of the aggregator CA, and nobody else', async () => {
    const { kubernetes, aggregator } = lab.bundle;
    const now = Date.now();
    const foreign = await createCa('kubernetes', { now });
    const headers = { 'X-Remote-User': 'somebody', 'X-Remote-Group': 'system:masters' };
    const path = '/api/v1/namespaces/default';
    const leafOf = async (ca: typeof kubernetes, profile: Parameters<typeof issueLeaf>[1]) => issueLeaf(ca, profile);

    expect(await statusOf(lab, path, lab.admin)).toBe(200);
    expect(await statusOf(lab, path)).toBe(401);
    expect(await statusOf(lab, '/readyz')).toBe(200);
    expect(await statusOf(lab, '/version')).toBe(200);
    expect(await statusOf(lab, path, await leafOf(foreign, kubernetesAdminProfile({ now })))).toBe(401);
    expect(await statusOf(lab, path, await leafOf(kubernetes, probeProfile({ now, usage: 'client' })))).toBe(403);
    expect(await statusOf(lab, path, await leafOf(aggregator, frontProxyClientProfile({ now })), headers)).toBe(200);
    expect(await statusOf(lab, path, await leafOf(aggregator, frontProxyClientProfile({ now })))).toBe(401);
    const impostor = await leafOf(aggregator, { ...frontProxyClientProfile({ now }), subject: { cn: 'somebody' } });
    expect(await statusOf(lab, path, impostor, headers)).toBe(401);
    expect(await statusOf(lab, path, undefined, { authorization: 'Bearer abc' })).toBe(401);
  });

  it('shows kubelets to administrators alone', async () => {
    expect(await statusOf(lab, '/pods', lab.admin, {}, 10_250)).toBe(200);
    expect(await statusOf(lab, '/healthz', lab.admin, {}, 10_250)).toBe(200);
    expect(await statusOf(lab, '/pods', undefined, {}, 10_250)).toBe(401);
    const probe = await issueLeaf(lab.bundle.kubernetes, probeProfile({ now: Date.now(), usage: 'client' }));
    expect(await statusOf(lab, '/pods', probe, {}, 10_250)).toBe(403);
  });
});

describe('the Kubernetes API of a lab in a rotation', () => {
  it('serves and takes what its files say at every moment, over open connections too', async () => {
    // No process restarts in the time of this test: what changes, changes because files are read again.
    const timing = { staticPodPoll: [60_000, 60_000] } as const;
    await using lab = await aKubeLab({ block: 2, controlPlanes: 1, workers: 0, timing });
    const { kubernetes } = lab.bundle;
    const next = await createCa('kubernetes', { now: Date.now(), backdateMs: 60_000 });
    const both = [kubernetes.certificate, next.certificate];
    const newAdmin = await issueLeaf(next, kubernetesAdminProfile({ now: Date.now() }));
    const old = lab.client('cp1', { trust: both });
    const fresh = lab.client('cp1', { trust: both, credentials: newAdmin });
    await expect(whoAmI(fresh)).rejects.toMatchObject({ kind: 'unauthorized' });

    await lab.rotate('kubernetes', next, 'Accepting');
    expect((await whoAmI(fresh)).user).toBe('admin');
    expect(await isServedBy(lab, kubernetes.certificate)).toBe(true);
    expect(await isServedBy(lab, next.certificate)).toBe(false);

    await lab.rotate('kubernetes', next, 'Issuing');
    expect(await isServedBy(lab, next.certificate)).toBe(true);
    expect(await isServedBy(lab, kubernetes.certificate)).toBe(false);
    expect((await whoAmI(old)).user).toBe('admin');

    await lab.rotate('kubernetes', next, 'Dropping');
    await expect(whoAmI(old)).rejects.toMatchObject({ kind: 'unauthorized' });
    expect((await whoAmI(fresh)).user).toBe('admin');
  });

  it('closes the port while the process is down, and ends its watches', async () => {
    const timing = { staticPodPoll: [100, 100], podStop: [3_000, 3_000], podStart: [100, 100] } as const;
    await using lab = await aKubeLab({ block: 4, controlPlanes: 1, workers: 0, timing });
    const next = await createCa('kubernetes-aggregator', { now: Date.now(), backdateMs: 60_000 });
    const client = lab.client('cp1');
    const before = await versionOf(client);
    const watching = (async () => {
      for await (const { type } of client.watch({ path: '/api/v1/namespaces', resourceVersion: '0', doing: 'watch' })) {
        if (type === 'DELETED') throw new Error('no namespace goes');
      }
    })();

    await lab.rotate('kubernetes-aggregator', next, 'Accepting');
    await lab.until(() => !apiServerOf(lab).isRunning);
    // What the kernel had accepted before the port was closed is reset.
    await vi.waitFor(() => expect(statusOf(lab, '/readyz')).rejects.toMatchObject({ code: 'ECONNREFUSED' }), 2_500);
    await expect(watching).rejects.toSatisfy((error) => isKubeError(error, 'unreachable'));
    await untilListening(lab.machine('cp1').address, 6443);

    expect(await statusOf(lab, '/readyz')).toBe(200);
    // The caches of the new process begin with its start: it cannot tell what happened before.
    await expect(nextOf(client, before)).rejects.toMatchObject({ kind: 'expired' });
  });
});

describe('the Kubernetes API of a lab without etcd', () => {
  let lab: KubeLab;

  beforeAll(async () => {
    lab = await aKubeLab({ block: 3, controlPlanes: 3, workers: 0 });
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  it('answers 500 where a majority is gone, and has lost nothing when it is back', async () => {
    const client = lab.client('cp1');
    await writeMap(client, 'POST', '1');
    const others = [lab.machine('cp2'), lab.machine('cp3')];

    for (const each of others) each.isCutOff = true;
    lab.lab.world.etcd.update();
    lab.lab.changed();
    expect(await readApiServerHealth(client)).toEqual({ ready: false, failing: ['etcd'] });
    await expect(writeMap(client, 'PATCH', '2')).rejects.toMatchObject({ kind: 'server-error' });
    for (const each of others) each.isCutOff = false;
    lab.lab.world.etcd.update();
    await lab.until(() => lab.lab.world.etcd.isHealthy(lab.machine('cp1')));

    expect(await writeMap(client, 'GET')).toMatchObject({ data: { n: '1' } });
  });

  it('says nothing while the process is frozen, and is itself again after it', async () => {
    const client = lab.client('cp1');
    const { plane } = lab.machine('cp1');
    if (plane === undefined) throw new Error('cp1 is no control plane');

    plane.apiServer.isFrozen = true;
    lab.lab.changed();
    const asked = client.request({ method: 'GET', path: '/readyz', reply: 'text', doing: 'ask', deadlineMs: 300 });
    await expect(asked).rejects.toSatisfy((error) => isKubeError(error, 'timeout', 'unreachable'));
    plane.apiServer.isFrozen = false;
    lab.lab.changed();

    expect(await client.request({ method: 'GET', path: '/readyz', reply: 'text', doing: 'ask', fresh: true })).toBe(
      'ok',
    );
  });
});

const apiServerOf = (lab: KubeLab) => {
  const server = lab.machine('cp1').plane?.apiServer;
  if (server === undefined) throw new Error('cp1 is no control plane');
  return server;
};

/** Whether a client that trusts this CA alone gets to the API server. */
async function isServedBy(lab: KubeLab, ca: Certificate): Promise<boolean> {
  try {
    await readApiServerHealth(lab.client('cp1', { trust: [ca] }));
    return true;
  } catch (error) {
    if (isKubeError(error, 'untrusted-server')) return false;
    throw error;
  }
}

/** Version of the whole, as a list gives it. */
async function versionOf(client: KubeClient): Promise<string> {
  const { metadata } = await client.request<{ metadata: { resourceVersion: string } }>({
    method: 'GET',
    path: '/api/v1/namespaces',
    doing: 'list',
  });
  return metadata.resourceVersion;
}

/** The first event after a version. */
async function nextOf(client: KubeClient, resourceVersion: string): Promise<string> {
  for await (const { type } of client.watch({ path: '/api/v1/namespaces', resourceVersion, doing: 'watch' }))
    return type;
  return 'none';
}

async function writeMap(client: KubeClient, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', n?: string): Promise<unknown> {
  const path = '/api/v1/namespaces/default/configmaps';
  const body = { metadata: { name: 'watched' }, data: { n } };
  return client.request({
    method,
    path: method === 'POST' ? path : `${path}/watched`,
    ...(n === undefined
      ? {}
      : { body, contentType: method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
    doing: `${method} a map`,
  });
}

function statusOf(
  lab: KubeLab,
  path: string,
  credentials?: KubeLab['admin'],
  headers: Readonly<Record<string, string>> = {},
  port = 6443,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ host: lab.machine('cp1').address, port, path, headers, agent: false, rejectUnauthorized: false },
        ...(credentials === undefined
          ? {}
          : { cert: credentials.certificate.pem, key: toPkcs8(credentials.key).expose() }),
      },
      (reply) => {
        resolve(reply.statusCode ?? 0);
        reply.destroy();
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createKubeClient,
  fromKubeconfig,
  isKubeError,
  type KubeClient,
  type KubeObject,
  listAll,
  mayI,
  pathOf,
  readApiServerHealth,
  toMicroTime,
  whoAmI,
} from '../../../pkg/kube/index.ts';
import { createCa, issueLeaf, kubernetesAdminProfile } from '../../../pkg/pki/index.ts';
import { isFrozen } from '../../support/frozen.ts';
import { describeReal } from '../../support/real.ts';
import { type ControlPlane, kubeconfigOf, startControlPlane } from './control-plane.ts';

const CONFIG_MAPS = pathOf('api', 'v1', 'namespaces', 'default', 'configmaps');

async function createConfigMap(
  client: KubeClient,
  name: string,
  data: Record<string, string> = {},
): Promise<KubeObject> {
  return await client.request<KubeObject>({
    method: 'POST',
    path: CONFIG_MAPS,
    body: { metadata: { name }, data },
    contentType: 'application/json',
    doing: `create the ConfigMap ${name}`,
  });
}

describeReal('our client on a real API server', { tools: ['etcd', 'kube-apiserver'] }, () => {
  let plane: ControlPlane;
  let client: KubeClient;

  beforeAll(async () => {
    // Compaction every 2 s, so that a continue token and a resource version can be seen to run out.
    plane = await startControlPlane({ apiServerFlags: ['--etcd-compaction-interval=2s'] });
    client = plane.client();
  });
  afterAll(() => plane[Symbol.asyncDispose]());

  it('is the administrator with the certificate of a kubeconfig', async () => {
    const url = plane.apiServers[0]?.url ?? '';
    const options = await fromKubeconfig(kubeconfigOf('https://vip.example:6443', plane.kubernetesCa, plane.admin), {
      server: url,
    });
    const own = createKubeClient(options);

    expect(await whoAmI(own)).toEqual({ user: 'admin', groups: ['system:masters', 'system:authenticated'] });
    own.close();
  });

  it('is told that its certificate is by a CA that the server does not know', async () => {
    const stranger = await createCa('kubernetes', { now: Date.now() });
    const leaf = await issueLeaf(stranger, kubernetesAdminProfile({ now: Date.now() }));

    const asking = whoAmI(plane.client({ credentials: { kind: 'certificate', ...leaf } }), { fresh: true });

    await expect(asking).rejects.toMatchObject({ kind: 'unauthorized', status: 401, outcome: 'not-done' });
  });

  it('does not talk to the server when it trusts another CA of the same name', async () => {
    const other = await createCa('kubernetes', { now: Date.now() });

    await expect(whoAmI(plane.client({ trust: [other.certificate] }))).rejects.toMatchObject({
      kind: 'untrusted-server',
    });
    await expect(
      whoAmI(plane.client({ trust: [other.certificate, plane.kubernetesCa.certificate] })),
    ).resolves.toMatchObject({ user: 'admin' });
  });

  it('knows what it may do', async () => {
    expect(await mayI(client, { verb: 'delete', group: '', resource: 'nodes' })).toMatchObject({ allowed: true });
    const nobody = await issueLeaf(plane.kubernetesCa, {
      subject: { cn: 'nobody' },
      usages: ['client'],
      now: Date.now(),
    });

    const asked = await mayI(plane.client({ credentials: { kind: 'certificate', ...nobody } }), {
      verb: 'list',
      group: '',
      resource: 'secrets',
    });

    expect(asked.allowed).toBe(false);
  });

  it.each([
    ['a group that is not served', '/apis/ichor.maesh.dev/v1alpha1/talosoperations', 'discovery'],
    ['a resource that its group does not have', '/apis/apps/v1/gadgets', 'discovery'],
    ['an object that is not there', `${CONFIG_MAPS}/missing`, 'not-found'],
  ])('tells %s apart', async (_what, path, kind) => {
    await expect(client.request({ method: 'GET', path, doing: 'look' })).rejects.toMatchObject({ kind, status: 404 });
  });

  it('writes what it says: a merge patch needs its content type, a stale version is a conflict, a second create is told', async () => {
    const made = await createConfigMap(client, 'written', { a: '1' });
    const path = `${CONFIG_MAPS}/written`;
    const body = { metadata: { resourceVersion: made.metadata.resourceVersion }, data: { a: '2' } };
    const patch = { method: 'PATCH', path, body, doing: 'patch it' } as const;

    await expect(client.request({ ...patch, contentType: 'application/json' })).rejects.toMatchObject({ status: 415 });
    await client.request({ ...patch, contentType: 'application/merge-patch+json' });
    await expect(client.request({ ...patch, contentType: 'application/merge-patch+json' })).rejects.toMatchObject({
      kind: 'conflict',
      outcome: 'not-done',
    });
    await expect(createConfigMap(client, 'written')).rejects.toMatchObject({ kind: 'already-exists' });
  });

  it('is refused a Lease time that is not text with six decimals', async () => {
    const lease = (renewTime: string) =>
      client.request({
        method: 'POST',
        path: pathOf('apis', 'coordination.k8s.io', 'v1', 'namespaces', 'default', 'leases'),
        query: { dryRun: 'All' },
        body: { metadata: { name: 'timed' }, spec: { holderIdentity: 'me', renewTime } },
        contentType: 'application/json',
        doing: 'create a Lease',
      });

    await expect(lease('2026-11-05T12:00:00.250Z')).rejects.toMatchObject({ kind: 'invalid', status: 400 });
    await expect(lease(toMicroTime(Date.UTC(2026, 10, 5, 12, 0, 0, 250)))).resolves.toMatchObject({
      spec: { renewTime: '2026-11-05T12:00:00.250000Z' },
    });
  });

  it('lists page by page, and the metadata alone where that is asked', async () => {
    for (let index = 0; index < 7; index += 1) await createConfigMap(client, `page-${index}`, { secret: 'x' });

    const list = await listAll<KubeObject>(client, {
      path: CONFIG_MAPS,
      doing: 'list',
      pageSize: 2,
      metadataOnly: true,
    });

    const names = list.items.map((item) => item.metadata.name).filter((name) => name.startsWith('page-'));
    expect(names).toEqual(['page-0', 'page-1', 'page-2', 'page-3', 'page-4', 'page-5', 'page-6']);
    expect(JSON.stringify(list.items)).not.toContain('"data"');
  });

  it('lists again from the start when the server has compacted the snapshot away', async () => {
    for (let index = 0; index < 4; index += 1) await createConfigMap(client, `compacted-${index}`);
    // The first page is read, then its snapshot is made to run out, then the rest is asked for.
    let pages = 0;
    const slow: KubeClient = {
      ...client,
      async request(request) {
        pages += 1;
        if (pages === 2) await untilCompacted(client, String(request.query?.continue));
        return await client.request(request);
      },
    };

    const list = await listAll<KubeObject>(slow, { path: CONFIG_MAPS, doing: 'list', pageSize: 3 });

    const names = list.items.map((item) => item.metadata.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('compacted-3');
    expect(pages).toBeGreaterThan(names.length / 3 + 1);
  });

  it('watches from the version of a list, and learns when that version has become too old', async () => {
    const list = await listAll<KubeObject>(client, { path: CONFIG_MAPS, doing: 'list' });
    const request = { path: CONFIG_MAPS, resourceVersion: list.resourceVersion, doing: 'watch' };
    const watching = client.watch<KubeObject>(request)[Symbol.asyncIterator]();
    const next = watching.next();
    await createConfigMap(client, 'watched');

    expect((await next).value).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'watched' } } });
    await watching.return?.();
    // A server that has just started knows nothing from before its own start.
    const late = await plane.addApiServer();
    const old = plane.client({ server: late.url }).watch<KubeObject>({ ...request, resourceVersion: '1' });
    await expect(old[Symbol.asyncIterator]().next()).rejects.toMatchObject({ kind: 'expired' });
    await late.process.stop('SIGKILL');
  });

  it('refuses a list that is larger than it may be', async () => {
    await createConfigMap(client, 'large', { data: 'x'.repeat(500_000) });

    await expect(
      client.request({ method: 'GET', path: CONFIG_MAPS, maxReplyBytes: 100_000, doing: 'list' }),
    ).rejects.toMatchObject({ kind: 'too-large' });
  });

  it('is told by the server itself what is wrong with it: without etcd it is not ready', async () => {
    await using own = await startControlPlane();
    const asking = own.client();
    expect(await readApiServerHealth(asking)).toEqual({ ready: true, failing: [] });

    await own.etcd.stop('SIGKILL');

    await expect
      .poll(() => readApiServerHealth(asking, { deadlineMs: 20_000 }), { timeout: 60_000 })
      .toMatchObject({ ready: false, failing: expect.arrayContaining(['etcd']) });
  });

  it('tells a killed server from one that does not answer, and finds it again when it is back', async () => {
    await using own = await startControlPlane();
    const asking = own.client({ connectDeadlineMs: 3_000 });
    await whoAmI(asking);
    const server = own.apiServers[0];

    const pid = server?.process.child.pid ?? 0;
    server?.process.child.kill('SIGSTOP');
    await expect.poll(() => isFrozen(pid), { timeout: 10_000 }).toBe(true);
    const frozen = await whoAmI(asking, { deadlineMs: 500 }).catch((error: unknown) => error);
    const frozenFresh = await whoAmI(asking, { deadlineMs: 15_000, fresh: true }).catch((error: unknown) => error);
    server?.process.child.kill('SIGCONT');
    const thawed = await whoAmI(asking);
    await server?.process.stop('SIGKILL');
    const killed = await whoAmI(asking).catch((error: unknown) => error);

    expect(frozen).toMatchObject({ kind: 'timeout', outcome: 'unknown' });
    expect(frozenFresh).toMatchObject({ kind: 'timeout', outcome: 'not-done' });
    expect(thawed.user).toBe('admin');
    expect(killed).toMatchObject({ kind: 'unreachable' });
  });
});

async function untilCompacted(client: KubeClient, token: string): Promise<void> {
  for (;;) {
    try {
      await client.request({ method: 'GET', path: CONFIG_MAPS, query: { limit: 1, continue: token }, doing: 'try it' });
    } catch (error) {
      if (isKubeError(error, 'expired')) return;
      throw error;
    }
    await sleep(200);
  }
}

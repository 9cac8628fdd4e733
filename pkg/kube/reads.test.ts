import { describe, expect, it } from 'vitest';
import { aCa } from '../../test/builders/certificates.ts';
import { aMeta, aPod } from '../../test/builders/kube-objects.ts';
import { type Answer, aStatus, startKubeServer } from '../../test/builders/kube-server.ts';
import { issueLeaf, talosAdminProfile } from '../pki/index.ts';
import {
  createEvent,
  deleteAggregatorAuth,
  evictPod,
  listApiServices,
  listRootCas,
  listSigningRequests,
  listTalosAccess,
  readAggregatorAuth,
  readApiServerHealth,
  readTalosAccess,
} from './index.ts';

/** Answers each path with what it ends in; everything else is an empty list. */
function byPath(answers: Readonly<Record<string, object>>) {
  return ({ path }: { path: string }): Answer => {
    const found = Object.entries(answers).find(([end]) => path.endsWith(end));
    return { json: found?.[1] ?? { items: [] } };
  };
}

function text(status: number, body: string): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/plain' });
    response.end(body);
  };
}

describe('the health of an API server', () => {
  it('is ready when it says so', async () => {
    await using server = await startKubeServer({
      answer: ({ path }) => text(200, `[+]ping ok\n[+]etcd ok\n${path.slice(1)} check passed\n`),
    });

    expect(await readApiServerHealth(server.client())).toEqual({ ready: true, failing: [] });
  });

  it('names what fails', async () => {
    await using server = await startKubeServer({
      answer: () =>
        text(
          500,
          '[+]ping ok\n[-]informer-sync failed: reason withheld\n[-]etcd failed: reason withheld\nreadyz check failed\n',
        ),
    });

    expect(await readApiServerHealth(server.client())).toEqual({
      ready: false,

      failing: ['etcd', 'informer-sync'],
    });
  });

  it('is not taken from something that only answers 200', async () => {
    await using server = await startKubeServer({ answer: () => text(200, '<html>welcome</html>') });

    expect(await readApiServerHealth(server.client())).toEqual({ ready: false, failing: [] });
  });

  it('is an error where it may not be asked', async () => {
    await using server = await startKubeServer({ answer: () => aStatus(403, 'Forbidden', 'forbidden') });

    await expect(readApiServerHealth(server.client())).rejects.toMatchObject({ kind: 'forbidden' });
  });
});

describe('the root CAs of namespaces', () => {
  it('show what is missing, broken or doubled, and which namespaces are leaving', async () => {
    const old = await aCa('kubernetes');
    const fresh = await aCa('kubernetes');
    const map = (namespace: string, data: object) => ({ metadata: aMeta('kube-root-ca.crt', { namespace }), data });
    await using server = await startKubeServer({
      answer: byPath({
        '/namespaces': {
          items: [
            { metadata: aMeta('good') },
            { metadata: aMeta('both') },
            { metadata: aMeta('empty', { deletionTimestamp: '2026-11-05T12:00:00Z' }) },
            { metadata: aMeta('keyless') },
            { metadata: aMeta('broken') },
          ],
        },
        '/configmaps': {
          items: [
            map('good', { 'ca.crt': fresh.certificate.pem }),
            map('both', { 'ca.crt': old.certificate.pem + fresh.certificate.pem }),
            map('keyless', {}),
            map('broken', { 'ca.crt': `${old.certificate.pem}-----BEGIN CERTIFICATE-----\nAAAA\n` }),
          ],
        },
      }),
    });

    const all = await listRootCas(server.client());

    const [oldPrint, freshPrint] = [old.certificate.fingerprint, fresh.certificate.fingerprint];
    expect(all).toMatchObject([
      { namespace: 'both', fingerprints: [oldPrint, freshPrint], problem: undefined },
      { namespace: 'broken', fingerprints: [oldPrint] },
      { namespace: 'empty', leaving: true, fingerprints: [], problem: 'there is no ConfigMap kube-root-ca.crt' },
      { namespace: 'good', leaving: false, fingerprints: [freshPrint], problem: undefined },
      { namespace: 'keyless', fingerprints: [], problem: 'the ConfigMap has no key ca.crt' },
    ]);
    expect(all[1]?.problem).toBeDefined();
  });

  it('are read after the namespaces, so that a new namespace is never one without', async () => {
    await using server = await startKubeServer({ answer: byPath({}) });

    await listRootCas(server.client());

    expect(server.seen.map(({ path }) => path)).toEqual(['/api/v1/namespaces', '/api/v1/configmaps']);
    expect(server.seen[1]?.query.get('fieldSelector')).toBe('metadata.name=kube-root-ca.crt');
  });
});

describe('what extension API servers trust', () => {
  it('may be missing altogether, or a part of it', async () => {
    const ca = await aCa('kubernetes-aggregator');
    let json: Answer = aStatus(404, 'NotFound', 'not found', { name: 'extension-apiserver-authentication' });
    await using server = await startKubeServer({ answer: () => json });
    expect(await readAggregatorAuth(server.client())).toBeUndefined();

    json = { json: { metadata: aMeta('x'), data: { 'requestheader-client-ca-file': ca.certificate.pem } } };

    expect(await readAggregatorAuth(server.client())).toEqual({
      uid: 'uid-of-x',
      resourceVersion: '1',
      requestHeaderCas: [ca.certificate.fingerprint],
      clientCas: [],
      problem: 'it has no key client-ca-file',
    });
  });

  it('is deleted by name with the UID as precondition', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });

    expect(await deleteAggregatorAuth(server.client(), 'u1')).toBe('deleted');

    expect(server.seen[0]).toMatchObject({
      method: 'DELETE',
      path: '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication',
      body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u1' } },
    });
  });

  it('may have been deleted when the reply was lost', async () => {
    await using server = await startKubeServer({ answer: () => (response) => response.destroy() });

    await expect(deleteAggregatorAuth(server.client(), 'u1')).rejects.toMatchObject({ outcome: 'unknown' });
  });
});

describe('signing requests', () => {
  it('are pending, approved, issued, denied or failed', async () => {
    const request = (name: string, status?: object) => ({
      metadata: aMeta(name),
      spec: { signerName: 's', username: 'system:node:a' },
      ...(status === undefined ? {} : { status }),
    });
    const approved = [{ type: 'Approved', status: 'True' }];
    await using server = await startKubeServer({
      answer: byPath({
        '/certificatesigningrequests': {
          items: [
            request('a'),
            request('b', { conditions: approved }),
            request('c', { conditions: approved, certificate: 'eA==' }),
            request('d', { conditions: [{ type: 'Denied', status: 'True', message: 'no' }] }),
            request('e', { conditions: [...approved, { type: 'Failed', status: 'True', message: 'bad key' }] }),
          ],
        },
      }),
    });

    const states = (await listSigningRequests(server.client())).map(({ name, state, message }) => [
      name,
      state,
      message,
    ]);

    expect(states).toEqual([
      ['a', 'pending', ''],
      ['b', 'approved', ''],
      ['c', 'issued', ''],
      ['d', 'denied', 'no'],
      ['e', 'failed', 'bad key'],
    ]);
  });
});

describe('aggregated APIs', () => {
  it('are told from those that the API server serves itself', async () => {
    const available = {
      type: 'Available',
      status: 'True',
      reason: 'Passed',
      lastTransitionTime: '2026-11-05T12:00:00Z',
    };
    await using server = await startKubeServer({
      answer: byPath({
        '/apiservices': {
          items: [
            { metadata: aMeta('v1.'), spec: { service: null }, status: { conditions: [available] } },
            { metadata: aMeta('v1beta1.x'), spec: { service: { namespace: 'n', name: 's' } } },
          ],
        },
      }),
    });

    expect(await listApiServices(server.client())).toEqual([
      {
        name: 'v1.',
        extension: undefined,
        available: true,
        reason: 'Passed',
        message: '',
        since: Date.UTC(2026, 10, 5, 12),
      },
      { name: 'v1beta1.x', extension: 'n/s', available: false, reason: '', message: '', since: undefined },
    ]);
  });
});

describe('programs with access to the Talos API', () => {
  it('are listed with the pods that mount their Secret, and no Secret is read', async () => {
    const mounting = (name: string, secretName: string) =>
      aPod(name, { spec: { volumes: [{ name: 'talos', secret: { secretName } }] } });
    await using server = await startKubeServer({
      answer: byPath({
        '/serviceaccounts': { items: [{ metadata: aMeta('backup', { namespace: 'default' }) }] },
        '/pods': {
          items: [
            mounting('b', 'backup'),
            mounting('a', 'backup'),
            mounting('other', 'else'),
            aPod('foreign', {
              metadata: { namespace: 'x' },
              spec: { volumes: [{ name: 't', secret: { secretName: 'backup' } }] },
            }),
          ],
        },
      }),
    });

    expect(await listTalosAccess(server.client())).toEqual([
      { namespace: 'default', name: 'backup', pods: ['a', 'b'] },
    ]);
    expect(server.seen.some(({ path }) => path.includes('secrets'))).toBe(false);
  });

  it('are read with the certificate in their Secret, and without the key beside it', async () => {
    const { certificate, key } = await issueLeaf(
      await aCa('talos', { now: Date.now() }),
      talosAdminProfile({ now: Date.now() }),
    );
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const talosconfig = (crt: string) =>
      base64(`context: default\ncontexts:\n  default: {crt: ${base64(crt)}, key: ${base64(key.expose())}}\n`);
    const names = ['good', 'bad', 'bare', 'none'];
    const answers = byPath({
      '/serviceaccounts': { items: names.map((name) => ({ metadata: aMeta(name, { namespace: 'default' }) })) },
      '/pods': { items: [] },
      '/secrets/good': { data: { config: talosconfig(certificate.pem) } },
      '/secrets/bad': { data: { config: talosconfig('no certificate') } },
      '/secrets/bare': { data: {} },
    });
    await using server = await startKubeServer({
      answer: (request) =>
        request.path.endsWith('/secrets/none')
          ? aStatus(404, 'NotFound', 'secrets "none" not found', { name: 'none', kind: 'secrets' })
          : answers(request),
    });

    const read = await readTalosAccess(server.client());

    expect(read.map((access) => [access.name, access.certificate?.fingerprint ?? access.problem])).toEqual([
      ['bad', 'its config is no talosconfig with a client certificate'],
      ['bare', 'it has no key config'],
      ['good', certificate.fingerprint],
      ['none', 'there is no Secret yet'],
    ]);
    expect(JSON.stringify(read)).not.toContain(base64(key.expose()).slice(0, 40));
  });

  it('are not taken for none when they cannot be listed', async () => {
    await using server = await startKubeServer({ answer: () => aStatus(403, 'Forbidden', 'forbidden') });

    await expect(listTalosAccess(server.client())).rejects.toMatchObject({ kind: 'forbidden' });
  });
});

describe('an event', () => {
  it('on an object without namespace is kept in the default namespace', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }) });

    await createEvent(server.client(), {
      regarding: { apiVersion: 'v1', kind: 'Node', name: 'cp-1', namespace: '' },
      type: 'Normal',
      reason: 'RebootRequested',
      action: 'Rebooting',
      note: 'x',
      at: Date.UTC(2026, 10, 5, 12),
      instance: 'ichor-0',
    });

    expect(server.seen[0]).toMatchObject({
      path: '/apis/events.k8s.io/v1/namespaces/default/events',
      body: { metadata: { generateName: 'cp-1-' }, eventTime: '2026-11-05T12:00:00.000000Z', note: 'x' },
    });
  });
});

describe('an eviction', () => {
  const POD = { namespace: 'default', name: 'web', uid: 'u' };

  it.each([
    [{ status: 201, json: {} }, { kind: 'accepted' }],
    [aStatus(404, 'NotFound', 'pods "web" not found', { name: 'web' }), { kind: 'gone' }],
    [aStatus(409, 'Conflict', 'Precondition failed: UID in precondition', { name: 'web' }), { kind: 'gone' }],
    [aStatus(429, 'TooManyRequests', 'slow down'), { kind: 'held', budget: undefined }],
    [
      aStatus(
        500,
        'InternalError',
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      ),
      { kind: 'held', budget: undefined },
    ],
  ])('answered with %j is %j', async (answer, result) => {
    await using server = await startKubeServer({ answer: () => answer });

    expect(await evictPod(server.client(), POD)).toMatchObject(result);
  });

  it('that may have been done is an error', async () => {
    await using server = await startKubeServer({ answer: () => (response) => response.destroy() });

    await expect(evictPod(server.client(), POD)).rejects.toMatchObject({ kind: 'unreachable', outcome: 'unknown' });
  });
});

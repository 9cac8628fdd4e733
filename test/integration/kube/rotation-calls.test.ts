import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  cordonNode,
  createEvent,
  createLease,
  deleteAggregatorAuth,
  deleteLease,
  drainRound,
  exhaustedBudget,
  type KubeClient,
  listApiServices,
  listNodes,
  listRootCas,
  listSigningRequests,
  listStalePods,
  listTalosAccess,
  podsOnNode,
  readAggregatorAuth,
  readLease,
  readWorkload,
  restartAskedAt,
  restartWorkload,
  rolloutState,
  uncordonNode,
  updateLease,
  whyNotReady,
} from '../../../pkg/kube/index.ts';
import { startKubeServer } from '../../builders/kube-server.ts';
import { describeReal } from '../../support/real.ts';
import { CONTROL_PLANE_TOOLS, type ControlPlane, startControlPlane } from './control-plane.ts';
import { type StandInKubelet, startStandInKubelet } from './stand-in-kubelet.ts';

const NODE = 'worker-1';

describeReal('the calls of a rotation on a real control plane', { tools: CONTROL_PLANE_TOOLS }, () => {
  let plane: ControlPlane;
  let client: KubeClient;
  let kubelet: StandInKubelet;

  beforeAll(async () => {
    plane = await startControlPlane({ controllerManager: true });
    client = plane.client();
    kubelet = await startStandInKubelet(plane.client(), NODE);
    await vi.waitUntil(async () => (await listRootCas(client)).every(({ problem }) => problem === undefined), LONG);
  });
  afterAll(async () => {
    await kubelet[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  async function create(path: string, body: object): Promise<void> {
    await client.request({ method: 'POST', path, body, contentType: 'application/json', doing: `create in ${path}` });
  }

  it('sees the boot ID of a node, and believes that it is ready because of its Lease', async () => {
    const [node] = await listNodes(client);

    expect(node).toMatchObject({ name: NODE, bootId: 'boot-of-worker-1', ready: 'True' });
    if (node === undefined) throw new Error('there is no node');
    expect(whyNotReady(node, { now: node.leaseRenewedAt ?? 0 })).toBeUndefined();
    expect(whyNotReady(node, { now: (node.leaseRenewedAt ?? 0) + 30_000 })).toContain('renewed its Lease 30 s ago');
  });

  it('undoes its own cordon and nobody else’s', async () => {
    const ours = { node: NODE, owner: 'rotate-1' };
    const unschedulable = async () => (await listNodes(client))[0]?.unschedulable;

    expect(await cordonNode(client, ours)).toBe('cordoned');
    expect(await cordonNode(client, ours)).toBe('cordoned');
    expect(await cordonNode(client, { ...ours, owner: 'rotate-2' })).toBe('cordoned-by-other');
    expect(await uncordonNode(client, { ...ours, owner: 'rotate-2' })).toBe('not-ours');
    expect(await unschedulable()).toBe(true);
    expect(await uncordonNode(client, ours)).toBe('uncordoned');
    expect(await unschedulable()).toBe(false);
    expect(await uncordonNode(client, { ...ours, node: 'worker-9' })).toBe('gone');
  });

  it('finds the CA that the pods of every namespace trust', async () => {
    const { fingerprint } = plane.kubernetesCa.certificate;

    const all = await listRootCas(client);

    expect(all.map(({ namespace }) => namespace)).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system']);
    for (const one of all) expect(one).toMatchObject({ leaving: false, fingerprints: [fingerprint] });
  });

  it('resets what extension API servers trust by its UID, and never the one that came after', async () => {
    const before = await readAggregatorAuth(client);
    if (before === undefined) throw new Error('there is no extension-apiserver-authentication');
    expect(before.requestHeaderCas).toEqual([plane.aggregatorCa.certificate.fingerprint]);
    expect(before.clientCas).toEqual([plane.kubernetesCa.certificate.fingerprint]);

    expect(await deleteAggregatorAuth(client, '00000000-0000-0000-0000-000000000000')).toBe('already-gone');
    expect((await readAggregatorAuth(client))?.uid).toBe(before.uid);
    expect(await deleteAggregatorAuth(client, before.uid)).toBe('deleted');
    await expect
      .poll(() => readAggregatorAuth(client), LONG)
      .toMatchObject({ requestHeaderCas: before.requestHeaderCas });
    expect(await deleteAggregatorAuth(client, before.uid)).toBe('already-gone');
    expect(await readAggregatorAuth(client)).toBeDefined();
  });

  it('does not drain past a budget, and names it and the pods that it holds', async () => {
    await create(`${DEPLOYMENTS}`, aDeployment('web', 2));
    await create(BUDGETS, aBudget('web-pdb', 'web', 2));
    await expect.poll(() => podNames('web'), LONG).toHaveLength(2);
    await expect.poll(() => budgetStatus('web-pdb'), LONG).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 0 });
    const before = await podNames('web');

    expect(await drainRound(client, NODE)).toEqual(
      before.map((name) => ({
        namespace: 'default',
        name,
        why: 'budget',
        budget: 'web-pdb',
        detail: 'The disruption budget web-pdb needs 2 healthy pods and has 2 currently',
      })),
    );
    expect(await podNames('web')).toEqual(before);
  });

  it('says when the budget of that Deployment allows a restart, and when its rollout is done', async () => {
    const web = { kind: 'Deployment', namespace: 'default', name: 'web' } as const;
    const budget = async () => exhaustedBudget(client, 'default', await readWorkload(client, web));
    const rollout = async () => rolloutState('Deployment', await readWorkload(client, web));
    const before = await podNames('web');
    const at = Date.UTC(2026, 10, 5, 12);

    expect(await budget()).toEqual({ name: 'web-pdb', message: 'it needs 2 healthy pods and has 2' });
    await client.request({
      method: 'PATCH',
      path: `${BUDGETS}/web-pdb`,
      body: { spec: { minAvailable: 1 } },
      contentType: 'application/merge-patch+json',
      doing: 'allow a disruption',
    });
    await expect.poll(budget, LONG).toBeUndefined();
    await expect.poll(rollout, LONG).toEqual({ done: true });
    const asked = await restartWorkload(client, web, at);
    // The answer to the patch is older than all that its controller makes of it.
    expect(rolloutState('Deployment', asked)).toMatchObject({ done: false });
    expect(restartAskedAt(asked)).toBe(at);
    await expect.poll(rollout, LONG).toEqual({ done: true });

    const after = await podNames('web');
    expect(after).toHaveLength(2);
    expect(after.filter((name) => before.includes(name))).toEqual([]);
    // The same time again is no change: nothing is replaced twice.
    expect((await restartWorkload(client, web, at)).metadata.generation).toBe(asked.metadata.generation);
  });

  it('evicts one after the other what a budget lets go one at a time', async () => {
    const before = await podNames('web');
    await cordonNode(client, { node: NODE, owner: 'drain' });
    const afterRound = async () => {
      await drainRound(client, NODE);
      return (await podNames('web')).filter((name) => before.includes(name));
    };

    // The replacements land on the same node, as there is no other; what counts is that the old ones went.
    await expect.poll(afterRound, LONG).toEqual([]);

    await uncordonNode(client, { node: NODE, owner: 'drain' });
  });

  it('groups pods that are older than a moment by their Deployment', async () => {
    await expect
      .poll(() => listStalePods(client, { startedBefore: Date.now() + 60_000 }), LONG)
      .toMatchObject([{ owner: 'Deployment', namespace: 'default', name: 'web', restartable: true }]);
    expect(await listStalePods(client, { startedBefore: Date.now() - 3_600_000 })).toEqual([]);
  });

  it('holds a Lease against others', async () => {
    const name = { namespace: 'default', name: 'cluster-test' };
    const spec = {
      holder: 'a',
      durationMs: 30_000,
      acquiredAt: 1_796_000_000_250,
      renewedAt: 1_796_000_000_250,
      transitions: 0,
    };
    expect(await readLease(client, name)).toBeUndefined();

    const made = await createLease(client, name, spec);
    await expect(createLease(client, name, spec)).rejects.toMatchObject({
      kind: 'already-exists',
      outcome: 'not-done',
    });
    const renewed = await updateLease(client, made, { ...spec, renewedAt: 1_796_000_010_000 });
    await expect(updateLease(client, made, { ...spec, holder: 'b' })).rejects.toMatchObject({ kind: 'conflict' });
    await expect(deleteLease(client, made)).rejects.toMatchObject({ kind: 'conflict' });

    expect(renewed).toMatchObject({ ...name, ...spec, renewedAt: 1_796_000_010_000 });
    expect(await readLease(client, name)).toEqual(renewed);
    await deleteLease(client, renewed);
    await deleteLease(client, renewed);
    expect(await readLease(client, name)).toBeUndefined();
  });

  it('lists what kubelets ask to have signed', async () => {
    const { Pkcs10CertificateRequestGenerator } = await import('@peculiar/x509');
    const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
    const request = await Pkcs10CertificateRequestGenerator.create({
      name: 'CN=system:node:worker-1, O=system:nodes',
      keys,
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    });

    await create('/apis/certificates.k8s.io/v1/certificatesigningrequests', {
      metadata: { name: 'csr-1' },
      spec: {
        request: Buffer.from(`${request.toString('pem')}\n`).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth'],
      },
    });

    expect(await listSigningRequests(client)).toMatchObject([
      { name: 'csr-1', signer: 'kubernetes.io/kube-apiserver-client', requester: 'admin', state: 'pending' },
    ]);
  });

  it('records an event, with a note that is cut where the API server would refuse it', async () => {
    await createEvent(client, {
      regarding: { apiVersion: 'v1', kind: 'Node', name: NODE, namespace: '' },
      type: 'Warning',
      reason: 'RotationHeld',
      action: 'Rotating',
      note: 'ü'.repeat(2_000),
      at: Date.now(),
      instance: 'ichor-0',
    });

    const events = await client.request<{ items: { reason: string; note: string }[] }>({
      method: 'GET',
      path: '/apis/events.k8s.io/v1/namespaces/default/events',
      query: { fieldSelector: 'reason=RotationHeld' },
      doing: 'list the events',
    });
    expect(events.items).toHaveLength(1);
    expect(events.items[0]?.note).toMatch(/^ü+…$/);
  });

  it('names the extension API server that is not available', async () => {
    await create('/apis/apiregistration.k8s.io/v1/apiservices', {
      metadata: { name: 'v1beta1.metrics.k8s.io' },
      spec: {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { namespace: 'kube-system', name: 'metrics-server' },
      },
    });

    const extensions = async () => (await listApiServices(client)).filter(({ extension }) => extension !== undefined);

    await expect.poll(extensions, LONG).toMatchObject([
      {
        name: 'v1beta1.metrics.k8s.io',
        extension: 'kube-system/metrics-server',
        available: false,
        reason: 'ServiceNotFound',
      },
    ]);
  });

  it('finds programs with access to the Talos API, and none where Talos’s type is not installed', async () => {
    expect(await listTalosAccess(client)).toEqual([]);

    await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', TALOS_SERVICE_ACCOUNTS);
    const account = { apiVersion: 'talos.dev/v1alpha1', kind: 'ServiceAccount', metadata: { name: 'backup' } };
    await expect
      .poll(
        () => create('/apis/talos.dev/v1alpha1/namespaces/default/serviceaccounts', account).then(() => 'made', String),
        LONG,
      )
      .toBe('made');

    expect(await listTalosAccess(client)).toEqual([{ namespace: 'default', name: 'backup', pods: [] }]);
  });

  it('tells a webhook that cannot be called from one that says no', async () => {
    await using hook = await startKubeServer({
      answer: ({ body }) => ({
        json: {
          apiVersion: 'admission.k8s.io/v1',
          kind: 'AdmissionReview',
          response: {
            uid: (body as { request: { uid: string } }).request.uid,
            allowed: false,
            status: { message: 'not on a Sunday' },
          },
        },
      }),
    });
    await create(WEBHOOKS, aWebhook('closed', 'https://127.0.0.1:1', hook.ca.certificate.pem));
    await create(WEBHOOKS, aWebhook('strict', hook.url, hook.ca.certificate.pem));
    const made = (name: string) =>
      create('/api/v1/namespaces/default/configmaps', { metadata: { name, labels: { hook: name } } }).then(
        () => 'made',
        (error: unknown) => error,
      );

    // A webhook takes effect some moments after it was made.
    await expect
      .poll(() => made('closed'), LONG)
      .toMatchObject({ kind: 'webhook', outcome: 'not-done', transient: true });
    await expect.poll(() => made('strict'), LONG).toMatchObject({ kind: 'forbidden', transient: false });
  });

  async function podNames(app: string): Promise<string[]> {
    const pods = await podsOnNode(client, NODE);
    return pods
      .filter((pod) => pod.metadata.labels?.app === app && pod.metadata.deletionTimestamp === undefined)
      .map((pod) => pod.metadata.name)
      .sort();
  }

  async function budgetStatus(name: string): Promise<unknown> {
    const budget = await client.request<{ status?: object }>({
      method: 'GET',
      path: `${BUDGETS}/${name}`,
      doing: `read the budget ${name}`,
    });
    return budget.status;
  }
});

const LONG = { timeout: 60_000, interval: 200 } as const;
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

function aDeployment(name: string, replicas: number) {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: 'main', image: 'none' }],
          volumes: [{ name: 'ca', configMap: { name: 'kube-root-ca.crt' } }],
        },
      },
    },
  };
}

function aBudget(name: string, app: string, minAvailable: number) {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { minAvailable, selector: { matchLabels: { app } } },
  };
}

function aWebhook(name: string, url: string, caPem: string) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        clientConfig: { url, caBundle: Buffer.from(caPem).toString('base64') },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        objectSelector: { matchLabels: { hook: name } },
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 2,
      },
    ],
  };
}

/** Group, kind and plural as Talos installs them; the rest does not matter here. */
const TALOS_SERVICE_ACCOUNTS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'serviceaccounts.talos.dev' },
  spec: {
    group: 'talos.dev',
    names: { kind: 'ServiceAccount', plural: 'serviceaccounts', singular: 'serviceaccount', shortNames: ['tsa'] },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

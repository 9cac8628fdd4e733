import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CertificateAndKey, toPkcs8 } from '../../../pkg/pki/index.ts';
import { aKubeLab, type KubeLab } from '../../builders/kube-lab.ts';
import { describeReal } from '../../support/real.ts';
import { type ControlPlane, startControlPlane } from '../kube/control-plane.ts';

/** One request, the same to both. */
interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: object | undefined;
  readonly type?: string | undefined;
  readonly accept?: string | undefined;
  /** Its message is longer than what a lab says; everything else is the same. */
  readonly isTerse?: true;
}

interface Answered {
  readonly status: number;
  readonly body: unknown;
}

const MAPS = '/api/v1/namespaces/default/configmaps';
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const METADATA = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json';

const aMap = (name: string, data: object, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

/** Requests in their order: each is answered with what those before it left behind. */
const REQUESTS: Readonly<Record<string, Asked>> = {
  'a map that is not there': { method: 'GET', path: `${MAPS}/map` },
  'a dry run': { method: 'POST', path: `${MAPS}?dryRun=All`, body: aMap('map', { a: '1' }) },
  'what a dry run left': { method: 'GET', path: `${MAPS}/map` },
  'a new map': { method: 'POST', path: MAPS, body: aMap('map', { a: '1' }, { labels: { app: 'x' } }) },
  'the same map again': { method: 'POST', path: MAPS, body: aMap('map', { a: '1' }) },
  'the map': { method: 'GET', path: `${MAPS}/map` },
  'its metadata': { method: 'GET', path: `${MAPS}/map`, accept: METADATA },
  'its table': { method: 'GET', path: `${MAPS}/map`, accept: TABLE },
  'a list by label': { method: 'GET', path: `${MAPS}?labelSelector=app%3Dx` },
  'a list by label that picks nothing': { method: 'GET', path: `${MAPS}?labelSelector=app+in+(y,z)` },
  'a list by name': { method: 'GET', path: `${MAPS}?fieldSelector=metadata.name%3Dmap` },
  'a map without a name': { method: 'POST', path: MAPS, body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} } },
  'a map in a namespace that is not there': {
    method: 'POST',
    path: '/api/v1/namespaces/nowhere/configmaps',
    body: aMap('map', {}),
  },
  'a map with another namespace': { method: 'POST', path: MAPS, body: aMap('other', {}, { namespace: 'kube-system' }) },
  'an update under another name': { method: 'PUT', path: `${MAPS}/map`, body: aMap('other', {}) },
  'an update of an old version': {
    method: 'PUT',
    path: `${MAPS}/map`,
    body: aMap('map', {}, { resourceVersion: '1' }),
  },
  'an update': { method: 'PUT', path: `${MAPS}/map`, body: aMap('map', { a: '2', b: '3' }, { labels: { app: 'x' } }) },
  'a merge patch': { method: 'PATCH', path: `${MAPS}/map`, type: MERGE, body: { data: { a: null, c: '4' } } },
  'a merge patch of an old version': {
    ...{ method: 'PATCH', path: `${MAPS}/map`, type: MERGE },
    body: { metadata: { resourceVersion: '1' }, data: { z: '1' } },
  },
  'a merge patch of what is not there': { method: 'PATCH', path: `${MAPS}/none`, type: MERGE, body: { data: {} } },
  'a strategic patch': {
    ...{ method: 'PATCH', path: `${MAPS}/map`, type: STRATEGIC },
    body: { metadata: { annotations: { note: 'x' } }, data: { b: null } },
  },
  'a JSON patch': {
    method: 'PATCH',
    path: `${MAPS}/map`,
    type: JSON_PATCH,
    body: [{ op: 'add', path: '/data/d', value: '5' }],
  },
  'an unknown kind of patch': { method: 'PATCH', path: `${MAPS}/map`, type: 'application/x-patch', body: {} },
  'a server-side apply': {
    method: 'PATCH',
    path: `${MAPS}/applied?fieldManager=one`,
    type: APPLY,
    body: aMap('applied', { a: '1', b: '1' }),
  },
  'an apply in conflict': {
    method: 'PATCH',
    path: `${MAPS}/applied?fieldManager=two`,
    type: APPLY,
    body: aMap('applied', { a: '2' }),
  },
  'an apply by force': {
    method: 'PATCH',
    path: `${MAPS}/applied?fieldManager=two&force=true`,
    type: APPLY,
    body: aMap('applied', { a: '2' }),
  },
  'an apply of less': {
    method: 'PATCH',
    path: `${MAPS}/applied?fieldManager=one`,
    type: APPLY,
    body: aMap('applied', { c: '1' }),
  },
  'a JSON patch whose test fails': {
    ...{ method: 'PATCH', path: `${MAPS}/map`, type: JSON_PATCH },
    body: [{ op: 'test', path: '/data/d', value: '6' }],
  },
  'a patch of the name': { method: 'PATCH', path: `${MAPS}/map`, type: MERGE, body: { metadata: { name: 'other' } } },
  'a patch of the UID': { method: 'PATCH', path: `${MAPS}/map`, type: MERGE, body: { metadata: { uid: 'another' } } },
  'an apply without a manager': { method: 'PATCH', path: `${MAPS}/map`, type: APPLY, body: aMap('map', {}) },
  'a name that is none': { isTerse: true, method: 'POST', path: MAPS, body: aMap('Not_A_Name', {}) },
  'a body that is no object': { isTerse: true, method: 'POST', path: MAPS, body: [] },
  'something below a map': { method: 'GET', path: `${MAPS}/map/nothing` },
  'a verb that pods lack': { method: 'PUT', path: '/api/v1/namespaces/default/pods' },
  'a label selector that is none': { isTerse: true, method: 'GET', path: `${MAPS}?labelSelector=a+b+c` },
  'a deletion of another version': {
    ...{ method: 'DELETE', path: `${MAPS}/map` },
    body: { preconditions: { resourceVersion: '1' } },
  },
  'a dry run of a deletion': { method: 'DELETE', path: `${MAPS}/map?dryRun=All` },
  'a deletion of another UID': { method: 'DELETE', path: `${MAPS}/map`, body: { preconditions: { uid: 'another' } } },
  'a deletion': { method: 'DELETE', path: `${MAPS}/map` },
  'a second deletion': { method: 'DELETE', path: `${MAPS}/map` },
  'a secret of text': {
    ...{ method: 'POST', path: '/api/v1/namespaces/default/secrets' },
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'secret' }, stringData: { key: 'value' } },
  },
  'the table of secrets': { method: 'GET', path: '/api/v1/namespaces/default/secrets', accept: TABLE },
  'a lease': {
    ...{ method: 'POST', path: '/apis/coordination.k8s.io/v1/namespaces/default/leases' },
    body: { metadata: { name: 'lease' }, spec: { holderIdentity: 'me', leaseDurationSeconds: 15 } },
  },
  'the table of leases': {
    method: 'GET',
    path: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    accept: TABLE,
  },
  'a namespace': { method: 'GET', path: '/api/v1/namespaces/default' },
  'a namespace that may not go': { method: 'DELETE', path: '/api/v1/namespaces/default' },
  'a resource that is not served': { method: 'GET', path: '/api/v1/nothings' },
  'a group that is not served': { method: 'GET', path: '/apis/nothing.example/v1/things' },
  'a path that is not served': { method: 'GET', path: '/nothing' },
  'who somebody is': {
    ...{ method: 'POST', path: '/apis/authentication.k8s.io/v1/selfsubjectreviews' },
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  },
  'a pod that is not there': { method: 'GET', path: '/api/v1/namespaces/default/pods/none' },
  'an eviction of what is not there': {
    ...{ method: 'POST', path: '/api/v1/namespaces/default/pods/none/eviction' },
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'none', namespace: 'default' } },
  },
  'a deployment that is not there': { method: 'GET', path: '/apis/apps/v1/namespaces/default/deployments/none' },
  'an unsupported field': { method: 'GET', path: '/api/v1/pods?fieldSelector=spec.other%3Dx' },
  'health in one word': { method: 'GET', path: '/readyz' },
};

describeReal(
  'the lab answers as kube-apiserver does',
  { tools: ['etcd', 'kube-apiserver', 'kube-controller-manager'] },
  () => {
    let real: ControlPlane;
    let lab: KubeLab;

    beforeAll(async () => {
      [real, lab] = await Promise.all([startControlPlane(), aKubeLab({ block: 11, controlPlanes: 1, workers: 0 })]);
    });
    afterAll(async () => {
      await Promise.all([real?.[Symbol.asyncDispose](), lab?.[Symbol.asyncDispose]()]);
    });

    const both = (asked: Asked): Promise<[Answered, Answered]> =>
      Promise.all([
        ask(real.apiServers[0]?.url ?? '', real.admin, asked),
        ask(`https://${lab.machine('cp1').address}:6443`, lab.admin, asked),
      ]);

    it.each(Object.entries(REQUESTS))('%s', async (_name, asked) => {
      const [theirs, ours] = await both(asked);

      const compared = asked.isTerse === true ? withoutMessages : plain;
      expect(compared(ours)).toEqual(compared(theirs));
    });

    describe('what is served', () => {
      const PATHS = ['/api/v1', '/apis/apps/v1', '/apis/policy/v1', '/apis/coordination.k8s.io/v1'];
      const more = ['/apis/certificates.k8s.io/v1', '/apis/events.k8s.io/v1', '/apis/apiregistration.k8s.io/v1'];

      it.each([...PATHS, ...more])('%s has the same names, and no verb that a real one lacks', async (path) => {
        const [theirs, ours] = await both({ method: 'GET', path });
        const known = new Map(resourcesOf(theirs).map((each) => [each.name, each]));

        for (const { verbs, shortNames = [], ...rest } of resourcesOf(ours)) {
          const {
            verbs: theirVerbs = [],
            shortNames: theirShort = [],
            storageVersionHash: _,
            ...theirRest
          } = known.get(rest.name) ?? {};
          expect({ ...rest, shortNames: [...shortNames] }).toEqual({ ...theirRest, shortNames: theirShort });
          expect(theirVerbs).toEqual(expect.arrayContaining([...verbs]));
        }
      });

      it.each([
        ...['/api/v1/nodes', '/api/v1/pods', '/api/v1/namespaces', '/api/v1/services', '/api/v1/events'],
        ...[
          '/api/v1/serviceaccounts',
          '/apis/apps/v1/deployments',
          '/apis/apps/v1/replicasets',
          '/apis/apps/v1/daemonsets',
        ],
        ...['/apis/policy/v1/poddisruptionbudgets', '/apis/certificates.k8s.io/v1/certificatesigningrequests'],
        '/apis/apiregistration.k8s.io/v1/apiservices',
      ])('%s has the same columns', async (path) => {
        const [theirs, ours] = await both({ method: 'GET', path, accept: TABLE });

        // Columns that are always empty in a lab may be left out at the end.
        expect(columnsOf(theirs)).toEqual(expect.arrayContaining(columnsOf(ours)));
        expect(columnsOf(theirs).filter(isShown)).toEqual(columnsOf(ours).filter(isShown));
      });
    });
  },
);

interface Listed {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly storageVersionHash?: string;
}

const resourcesOf = ({ body }: Answered): readonly Listed[] => (body as { resources: readonly Listed[] }).resources;

interface ColumnDefinition {
  readonly name: string;
  readonly priority: number;
}

const isShown = ({ priority }: ColumnDefinition): boolean => priority === 0;

interface Table {
  readonly columnDefinitions: readonly ColumnDefinition[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

function columnsOf({ body }: Answered): ColumnDefinition[] {
  const { columnDefinitions } = body as Table;
  return columnDefinitions.map(({ name, priority }) => ({ name, priority }));
}

/** An answer without what is another one each time, and without what only a whole Kubernetes adds. */
function plain({ status, body }: Answered): unknown {
  return { status, body: typeof body === 'string' ? body : withoutAges(JSON.parse(JSON.stringify(body), drop)) };
}

/** A table whose ages say only that they are some: the two were asked, and made what they show, at other moments. */
function withoutAges(body: Partial<Table>): unknown {
  const { columnDefinitions, rows } = body;
  if (columnDefinitions === undefined || rows === undefined) return body;
  const age = columnDefinitions.findIndex(({ name }) => name === 'Age');
  const shown = (cell: unknown, index: number): unknown =>
    index === age && /^\d+(s|m|m\d+s)$/.test(String(cell)) ? 'an age' : cell;
  return { ...body, rows: rows.map((row) => ({ ...row, cells: row.cells.map(shown) })) };
}

const withoutMessages = (answered: Answered): unknown =>
  JSON.parse(JSON.stringify(plain(answered), (key, value) => (key === 'message' ? undefined : value)));

const VOLATILE = [
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'time',
  'description',
  'managedFields',
  'user.extra',
  'extra',
];

function drop(key: string, value: unknown): unknown {
  if (VOLATILE.includes(key)) return undefined;
  // kube-root-ca.crt is there only with a controller manager.
  if (key === 'items' && Array.isArray(value)) return value.filter((item) => item.metadata.name !== 'kube-root-ca.crt');
  if (key === 'message' && typeof value === 'string') return value.replace(/(in record) \([-\w]+\)/g, '$1 (…)');
  return value;
}

function ask(server: string, { certificate, key }: CertificateAndKey, asked: Asked): Promise<Answered> {
  const { method, path, body, accept = 'application/json', type = 'application/json' } = asked;
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, server),
      {
        method,
        headers: {
          accept,
          ...(text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
        },
        cert: certificate.pem,
        key: toPkcs8(key).expose(),
        rejectUnauthorized: false,
        agent: false,
      },
      async (reply) => {
        const answer = Buffer.concat(await reply.toArray()).toString();
        resolve({ status: reply.statusCode ?? 0, body: answer.startsWith('{') ? JSON.parse(answer) : answer });
      },
    );
    sent.on('error', reject);
    sent.end(text);
  });
}

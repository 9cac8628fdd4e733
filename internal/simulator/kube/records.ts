import { type KubeObject, toTime } from '../../../pkg/kube/index.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, ageOf, column, NAME_COLUMN, textColumn } from './columns.ts';
import { fieldOf, listOf, textOf } from './fields.ts';
import type { Resource } from './resource.ts';
import { stored } from './stored.ts';

const EVENT_FIELDS = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

/** When an event was seen last; each of the two API groups has a field of its own for it. */
function seenAt(object: KubeObject): string | undefined {
  return ['lastTimestamp', 'deprecatedLastTimestamp', 'eventTime', 'firstTimestamp']
    .map((field) => textOf(object, field))
    .find((text) => text !== '');
}

/** What is listed of events; the two groups name whom an event is about, and its text, in words of their own. */
function eventColumns(about: string, text: string): Resource['columns'] {
  return [
    column('Last Seen', (object, now) => ageOf(seenAt(object), now)),
    textColumn('Type', 'type'),
    textColumn('Reason', 'reason'),
    column('Object', (object) => `${textOf(object, `${about}.kind`).toLowerCase()}/${textOf(object, `${about}.name`)}`),
    textColumn('Message', text),
    { ...NAME_COLUMN, wide: true },
  ];
}

/** Events as the core group shows them. The other group, `events.k8s.io`, shows the same ones. */
export const EVENTS = stored({
  group: '',
  version: 'v1',
  plural: 'events',
  singular: 'event',
  kind: 'Event',
  namespaced: true,
  shortNames: ['ev'],
  fields: ['type', 'reason', 'source', 'reportingComponent', ...EVENT_FIELDS.map((field) => `involvedObject.${field}`)],
  columns: eventColumns('involvedObject', 'message'),
});

/** The same event in the words of the other group. */
function inNewWords(object: KubeObject): KubeObject {
  const { involvedObject, message, source, reportingComponent, ...rest } = object as unknown as Record<string, unknown>;
  const controller = reportingComponent ?? fieldOf(source, 'component');
  return {
    ...rest,
    regarding: involvedObject,
    note: message,
    reportingController: controller,
  } as unknown as KubeObject;
}

function inOldWords(object: KubeObject): KubeObject {
  const { regarding, note, reportingController, ...rest } = object as unknown as Record<string, unknown>;
  const at = textOf(object, 'eventTime') || object.metadata.creationTimestamp;
  const times = { firstTimestamp: at, lastTimestamp: at, count: 1 };
  return {
    ...times,
    ...rest,
    involvedObject: regarding,
    message: note,
    reportingComponent: reportingController,
    source: { component: reportingController },
  } as unknown as KubeObject;
}

/** Events of the group `events.k8s.io`. */
export const NEW_EVENTS: Resource = {
  ...EVENTS,
  group: 'events.k8s.io',
  fields: ['type', 'reason', 'reportingController', ...EVENT_FIELDS.map((field) => `regarding.${field}`)],
  columns: eventColumns('regarding', 'note'),
  list: (world) => EVENTS.list(world).map(inNewWords),
  create: (world, object) => EVENTS.create?.(world, inOldWords(object)),
  update: (world, { before, after }) =>
    EVENTS.update?.(world, { before: inOldWords(before), after: inOldWords(after) }),
};

function conditionText(object: KubeObject): string {
  const conditions = listOf(object, 'status.conditions').map(({ type }) => String(type));
  const issued = textOf(object, 'status.certificate') === '' ? [] : ['Issued'];
  return [...(conditions.length === 0 ? ['Pending'] : conditions), ...issued].join(',');
}

/** What kubelets asked for; the leading controller manager approves and signs it in one go. */
function ownRequests(world: World): KubeObject[] {
  return world.kubernetes.requests.map(({ machine, at, certificate }) => ({
    metadata: {
      name: `csr-${machine}-${Math.floor(at / 1_000)}`,
      uid: `csr-${machine}-${at}`,
      resourceVersion: '1',
      creationTimestamp: toTime(at),
    },
    ...{
      spec: {
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        username: 'system:bootstrap:abcdef',
        groups: ['system:bootstrappers', 'system:bootstrappers:nodes', 'system:authenticated'],
        usages: ['digital signature', 'client auth'],
      },
      status: {
        conditions: [{ type: 'Approved', status: 'True', reason: 'AutoApproved', lastUpdateTime: toTime(at) }],
        certificate: Buffer.from(certificate.pem).toString('base64'),
      },
    },
  }));
}

/** Certificate signing requests: those of kubelets. What others ask for stays pending, nobody signs it. */
export const SIGNING_REQUESTS = stored({
  group: 'certificates.k8s.io',
  version: 'v1',
  plural: 'certificatesigningrequests',
  singular: 'certificatesigningrequest',
  kind: 'CertificateSigningRequest',
  namespaced: false,
  shortNames: ['csr'],
  fields: ['spec.signerName'],
  columns: [
    NAME_COLUMN,
    AGE_COLUMN,
    textColumn('SignerName', 'spec.signerName'),
    textColumn('Requestor', 'spec.username'),
    column('RequestedDuration', () => '<none>'),
    column('Condition', conditionText),
  ],
  own: ownRequests,
});

/** API services: one for each group that is served, all of them by the API server itself. */
export function apiServices(versions: () => readonly { group: string; version: string }[]): Resource {
  const objectOf = ({ group, version }: { group: string; version: string }): KubeObject => ({
    metadata: {
      name: `${version}.${group}`,
      uid: `apiservice-${version}.${group}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' },
    },
    ...{
      spec: { group, version, groupPriorityMinimum: 17_000, versionPriority: 15 },
      status: {
        conditions: [
          {
            type: 'Available',
            status: 'True',
            reason: 'Local',
            message: 'Local APIServices are always available',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      },
    },
  });
  return {
    group: 'apiregistration.k8s.io',
    version: 'v1',
    plural: 'apiservices',
    singular: 'apiservice',
    kind: 'APIService',
    namespaced: false,
    shortNames: [],
    categories: ['api-extensions'],
    columns: [
      NAME_COLUMN,
      column('Service', () => 'Local'),
      column('Available', (object) => String(listOf(object, 'status.conditions')[0]?.status)),
      AGE_COLUMN,
    ],
    list: () => versions().map(objectOf),
  };
}

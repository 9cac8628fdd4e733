/** How a field is read. */
export type FieldType =
  | 'text'
  | 'raw'
  | 'bytes'
  | 'number'
  | 'boolean'
  | 'time'
  | 'micro-time'
  | 'number-or-text'
  | { readonly message: Message }
  | { readonly list: FieldType }
  | { readonly map: 'text' | 'bytes' };

/** Fields of a message by their number, each with the name that it has in JSON. */
export type Message = Readonly<Record<number, readonly [name: string, type: FieldType]>>;

const owner: Message = {
  1: ['kind', 'text'],
  3: ['name', 'text'],
  4: ['uid', 'text'],
  5: ['apiVersion', 'text'],
  6: ['controller', 'boolean'],
  7: ['blockOwnerDeletion', 'boolean'],
};

const metadata: Message = {
  1: ['name', 'text'],
  2: ['generateName', 'text'],
  3: ['namespace', 'text'],
  5: ['uid', 'text'],
  6: ['resourceVersion', 'text'],
  11: ['labels', { map: 'text' }],
  12: ['annotations', { map: 'text' }],
  13: ['ownerReferences', { list: { message: owner } }],
  14: ['finalizers', { list: 'text' }],
};

const head = ['metadata', { message: metadata }] as const;

const deleteOptions: Message = {
  1: ['gracePeriodSeconds', 'number'],
  2: ['preconditions', { message: { 1: ['uid', 'text'], 2: ['resourceVersion', 'text'] } }],
  4: ['propagationPolicy', 'text'],
  5: ['dryRun', { list: 'text' }],
};

const requirement: Message = { 1: ['key', 'text'], 2: ['operator', 'text'], 3: ['values', { list: 'text' }] };

const selector: Message = {
  1: ['matchLabels', { map: 'text' }],
  2: ['matchExpressions', { list: { message: requirement } }],
};

const reference: Message = {
  1: ['kind', 'text'],
  2: ['namespace', 'text'],
  3: ['name', 'text'],
  4: ['uid', 'text'],
  5: ['apiVersion', 'text'],
  6: ['resourceVersion', 'text'],
  7: ['fieldPath', 'text'],
};

const budgetSpec: Message = {
  1: ['minAvailable', 'number-or-text'],
  2: ['selector', { message: selector }],
  3: ['maxUnavailable', 'number-or-text'],
  4: ['unhealthyPodEvictionPolicy', 'text'],
};

const leaseSpec: Message = {
  1: ['holderIdentity', 'text'],
  2: ['leaseDurationSeconds', 'number'],
  3: ['acquireTime', 'micro-time'],
  4: ['renewTime', 'micro-time'],
  5: ['leaseTransitions', 'number'],
};

const resourceAttributes: Message = {
  1: ['namespace', 'text'],
  2: ['verb', 'text'],
  3: ['group', 'text'],
  4: ['version', 'text'],
  5: ['resource', 'text'],
  6: ['subresource', 'text'],
  7: ['name', 'text'],
};

const accessSpec: Message = {
  1: ['resourceAttributes', { message: resourceAttributes }],
  2: ['nonResourceAttributes', { message: { 1: ['path', 'text'], 2: ['verb', 'text'] } }],
};

/** Field numbers of `k8s.io/api` and `k8s.io/apimachinery` 0.37 (`generated.proto`), of the kinds that kubectl creates with a client of their own. */
const KINDS: Readonly<Record<string, Message>> = {
  'v1 ConfigMap': {
    1: head,
    2: ['data', { map: 'text' }],
    3: ['binaryData', { map: 'bytes' }],
    4: ['immutable', 'boolean'],
  },
  'v1 Secret': {
    1: head,
    2: ['data', { map: 'bytes' }],
    3: ['type', 'text'],
    4: ['stringData', { map: 'text' }],
    5: ['immutable', 'boolean'],
  },
  'v1 Namespace': { 1: head },
  'v1 ServiceAccount': { 1: head },
  'v1 DeleteOptions': deleteOptions,
  'meta.k8s.io/v1 DeleteOptions': deleteOptions,
  'v1 Event': {
    1: head,
    2: ['involvedObject', { message: reference }],
    3: ['reason', 'text'],
    4: ['message', 'text'],
    5: ['source', { message: { 1: ['component', 'text'], 2: ['host', 'text'] } }],
    6: ['firstTimestamp', 'time'],
    7: ['lastTimestamp', 'time'],
    8: ['count', 'number'],
    9: ['type', 'text'],
    10: ['eventTime', 'micro-time'],
    12: ['action', 'text'],
    14: ['reportingComponent', 'text'],
    15: ['reportingInstance', 'text'],
  },
  'policy/v1 Eviction': { 1: head, 2: ['deleteOptions', { message: deleteOptions }] },
  'policy/v1 PodDisruptionBudget': { 1: head, 2: ['spec', { message: budgetSpec }] },
  'coordination.k8s.io/v1 Lease': { 1: head, 2: ['spec', { message: leaseSpec }] },
  'authentication.k8s.io/v1 SelfSubjectReview': { 1: head },
  'authorization.k8s.io/v1 SelfSubjectAccessReview': { 1: head, 2: ['spec', { message: accessSpec }] },
  'authorization.k8s.io/v1 SelfSubjectRulesReview': {
    1: head,
    2: ['spec', { message: { 1: ['namespace', 'text'] } }],
  },
};

/** The message of a kind; undefined for one that is not described. */
export function messageOf(apiVersion: string, kind: string): Message | undefined {
  return KINDS[`${apiVersion} ${kind}`];
}

/** Messages that others are made of. */
export const MESSAGES = {
  /** What is around every object. */
  unknown: { 1: ['typeMeta', { message: { 1: ['apiVersion', 'text'], 2: ['kind', 'text'] } }], 2: ['raw', 'raw'] },
  time: { 1: ['seconds', 'number'], 2: ['nanos', 'number'] },
  numberOrText: { 1: ['type', 'number'], 2: ['number', 'number'], 3: ['text', 'text'] },
} as const satisfies Readonly<Record<string, Message>>;

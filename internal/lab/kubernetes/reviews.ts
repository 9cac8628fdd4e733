import { type ApiReply, type ApiUser, failure } from '../../simulator/kube/index.ts';
import { mayUse } from './identity.ts';

/** A question that somebody asks about himself. */
export interface Review {
  readonly group: 'authentication.k8s.io' | 'authorization.k8s.io';
  readonly kind: string;
  readonly plural: string;
  /** The status of the answer. */
  answer(user: ApiUser, spec: unknown): object;
}

interface AccessSpec {
  readonly resourceAttributes?: { readonly verb?: string };
  readonly nonResourceAttributes?: { readonly path?: string };
}

const ALL_RESOURCES = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
const ALL_PATHS = { verbs: ['*'], nonResourceURLs: ['*'] };
const OPEN_PATHS = {
  verbs: ['get'],
  nonResourceURLs: ['/api', '/apis', '/healthz', '/livez', '/openapi', '/readyz', '/version'],
};

const isAdministrator = (user: ApiUser): boolean => user.groups.includes('system:masters');

/** `kubectl auth whoami` and `kubectl auth can-i`. */
export const REVIEWS: readonly Review[] = [
  {
    group: 'authentication.k8s.io',
    kind: 'SelfSubjectReview',
    plural: 'selfsubjectreviews',
    answer: ({ name, groups }) => ({ userInfo: { username: name, groups } }),
  },
  {
    group: 'authorization.k8s.io',
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
    answer(user, spec) {
      const path = (spec as AccessSpec | undefined)?.nonResourceAttributes?.path;
      const allowed = path === undefined ? isAdministrator(user) : mayUse(user, path);
      return { allowed, reason: allowed ? '' : 'only members of system:masters may do anything in a lab' };
    },
  },
  {
    group: 'authorization.k8s.io',
    kind: 'SelfSubjectRulesReview',
    plural: 'selfsubjectrulesreviews',
    answer: (user) => ({
      incomplete: false,
      resourceRules: isAdministrator(user) ? [ALL_RESOURCES] : [],
      nonResourceRules: isAdministrator(user) ? [ALL_PATHS] : [OPEN_PATHS],
    }),
  },
];

/** Answers a question; undefined for a path that is none. */
export function review(path: string, method: string, user: ApiUser, body: unknown): ApiReply | undefined {
  const found = REVIEWS.find(({ group, plural }) => path === `/apis/${group}/v1/${plural}`);
  if (found === undefined) return undefined;
  if (method !== 'POST') return failure(405, 'MethodNotAllowed', `${found.plural} are only created`);
  const { spec } = (body ?? {}) as { spec?: unknown };
  const status = found.answer(user, spec);
  const answer = {
    kind: found.kind,
    apiVersion: `${found.group}/v1`,
    metadata: { creationTimestamp: null },
    // One of the three has nothing to ask for.
    ...(spec === undefined ? {} : { spec }),
    status,
  };
  return { status: 201, body: answer };
}

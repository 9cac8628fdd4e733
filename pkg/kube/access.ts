import { type CallOptions, type KubeClient, pathOf } from './client.ts';

/** One thing that somebody may or may not do. */
export interface AccessQuestion {
  readonly verb: string;
  /** API group; empty for the core group. */
  readonly group: string;
  /** Plural, lower case; `*` for all. */
  readonly resource: string;
  readonly subresource?: string | undefined;
  /** Empty or absent: in all namespaces, or a resource of no namespace. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** What the API server says about it. */
export interface AccessAnswer {
  readonly allowed: boolean;
  /** The authoriser's reason, often empty. */
  readonly reason: string;
}

/** Asks whether the client's own credentials may do something (SelfSubjectAccessReview); changes nothing. */
export async function mayI(
  client: KubeClient,
  question: AccessQuestion,
  options: CallOptions = {},
): Promise<AccessAnswer> {
  const review = await client.request<{ status?: { allowed?: boolean; reason?: string } }>({
    method: 'POST',
    path: pathOf('apis', 'authorization.k8s.io', 'v1', 'selfsubjectaccessreviews'),
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: question },
    },
    contentType: 'application/json',
    doing: `ask whether we may ${question.verb} ${question.resource}`,
    ...options,
  });
  return { allowed: review.status?.allowed === true, reason: review.status?.reason ?? '' };
}

/** Who the API server takes us for (SelfSubjectReview); proves credentials without touching anything. */
export async function whoAmI(
  client: KubeClient,
  options: CallOptions = {},
): Promise<{ readonly user: string; readonly groups: readonly string[] }> {
  const review = await client.request<{ status?: { userInfo?: { username?: string; groups?: readonly string[] } } }>({
    method: 'POST',
    path: pathOf('apis', 'authentication.k8s.io', 'v1', 'selfsubjectreviews'),
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    contentType: 'application/json',
    doing: 'ask who we are',
    ...options,
  });
  return { user: review.status?.userInfo?.username ?? '', groups: review.status?.userInfo?.groups ?? [] };
}

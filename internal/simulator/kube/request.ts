/** Somebody whom an API server has authenticated. */
export interface ApiUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** One request as an API server sees it, its user authenticated already. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** Media type of the body; says which kind of patch it is. A merge patch unless given. */
  readonly contentType?: string | undefined;
  /** An administrator unless given. */
  readonly user?: ApiUser | undefined;
}

/** What it answers: JSON, or text for health checks. */
export interface ApiReply {
  readonly status: number;
  readonly body: unknown;
}

/** What a Status says about the object that it is about. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource, in the plural. */
  readonly kind?: string;
  readonly causes?: readonly object[];
}

/** A refusal as a Status in the words of Kubernetes. */
export function failure(status: number, reason: string, message: string, details?: StatusDetails): ApiReply {
  return {
    status,
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details === undefined ? {} : { details }),
      code: status,
    },
  };
}

/** Where a path leads to nothing that is served: without details, as there is no object that it could mean. */
export function notServed(): ApiReply {
  return failure(404, 'NotFound', 'the server could not find the requested resource', {});
}

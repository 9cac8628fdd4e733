import { describe, expect, it } from 'vitest';
import { aStatus, startKubeServer } from '../../test/builders/kube-server.ts';
import { isTransientForHandoff, KubeError, type KubeErrorKind, type KubeRequest } from './index.ts';

const WRITE: KubeRequest = {
  method: 'PUT',
  path: '/api/v1/namespaces/default/configmaps/x',
  body: {},
  contentType: 'application/json',
  doing: 'write x',
};

const CALLING =
  'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post "https://hook.default.svc:443/?timeout=10s": ';

/** Real answers of kube-apiserver, one row each: status, reason, message, details, and what they mean. */
const ANSWERS: readonly [number, string, string, object, KubeErrorKind, 'not-done' | 'unknown', boolean, boolean][] = [
  // status, reason, message, details, kind, outcome, transient, waited for in the hand-off
  [401, 'Unauthorized', 'Unauthorized', {}, 'unauthorized', 'not-done', false, false],
  [
    403,
    'Forbidden',
    'nodes is forbidden: User "x" cannot list',
    { kind: 'nodes' },
    'forbidden',
    'not-done',
    false,
    false,
  ],
  [
    404,
    'NotFound',
    'configmaps "x" not found',
    { name: 'x', kind: 'configmaps' },
    'not-found',
    'not-done',
    false,
    false,
  ],
  [404, 'NotFound', 'the server could not find the requested resource', {}, 'discovery', 'not-done', true, true],
  [409, 'Conflict', 'the object has been modified', { name: 'x' }, 'conflict', 'not-done', false, false],
  [409, 'AlreadyExists', 'leases "x" already exists', { name: 'x' }, 'already-exists', 'not-done', false, false],
  [410, 'Expired', 'The provided continue parameter is too old', {}, 'expired', 'not-done', false, false],
  [415, 'UnsupportedMediaType', '415: Unsupported Media Type', {}, 'invalid', 'not-done', false, false],
  [422, 'Invalid', 'spec.x: Required value', { name: 'x' }, 'invalid', 'not-done', false, false],
  [429, 'TooManyRequests', 'too many requests', {}, 'too-many-requests', 'not-done', true, true],
  [500, 'InternalError', 'etcdserver: request timed out', {}, 'server-error', 'unknown', true, false],
  [
    503,
    'ServiceUnavailable',
    'the server is currently unable to handle the request',
    {},
    'server-error',
    'unknown',
    true,
    true,
  ],
  [
    503,
    'ServiceUnavailable',
    'the request has been made before all known HTTP paths have been installed, please try again',
    {},
    'discovery',
    'not-done',
    true,
    true,
  ],
  [504, 'Timeout', 'request did not complete within the allotted timeout', {}, 'timeout', 'unknown', true, true],
  [
    500,
    'InternalError',
    `${CALLING}dial tcp 10.96.0.7:443: connect: connection refused`,
    {},
    'webhook',
    'not-done',
    true,
    true,
  ],
  [500, 'InternalError', `${CALLING}context deadline exceeded`, {}, 'webhook', 'not-done', true, true],
  [403, 'Forbidden', 'failed calling webhook "x": forbidden', {}, 'forbidden', 'not-done', false, false],
  [422, 'Invalid', 'failed calling webhook "x": invalid', {}, 'invalid', 'not-done', false, false],
  [403, 'Forbidden', 'admission webhook "x" denied the request: no', {}, 'forbidden', 'not-done', false, false],
  [500, '', 'admission webhook "x" denied the request: no', {}, 'forbidden', 'not-done', false, false],
];

describe('an answer of an API server', () => {
  it.each(ANSWERS)('%i %s "%s"', async (code, reason, message, details, kind, outcome, transient, inHandoff) => {
    await using server = await startKubeServer({ answer: () => aStatus(code, reason, message, details) });

    const error = await server
      .client()
      .request(WRITE)
      .catch((caught: unknown) => caught);

    expect(error).toMatchObject({ kind, outcome, transient, status: code });
    expect(isTransientForHandoff(error)).toBe(inHandoff);
  });

  it('that names no resource at all is a type that is not served', async () => {
    await using server = await startKubeServer({
      answer: () => (response) => response.writeHead(404).end('404 page not found\n'),
    });

    const error = await server
      .client()
      .request(WRITE)
      .catch((caught: unknown) => caught);

    expect(error).toMatchObject({
      kind: 'discovery',
      message: `discovery: could not write x on ${server.url}: status 404: 404 page not found`,
    });
  });

  it('tells how long to wait and which causes it had', async () => {
    await using server = await startKubeServer({
      answer: () => ({
        ...aStatus(429, 'TooManyRequests', 'Cannot evict pod', {
          causes: [{ reason: 'DisruptionBudget', message: 'b' }],
        }),
        headers: { 'retry-after': '10' },
      }),
    });

    const error = await server
      .client()
      .request(WRITE)
      .catch((caught: unknown) => caught);

    expect(error).toMatchObject({
      retryAfterMs: 10_000,
      causes: [{ reason: 'DisruptionBudget', message: 'b', field: '' }],
    });
  });

  it('that sends us elsewhere is not followed', async () => {
    await using server = await startKubeServer({
      answer: () => ({ status: 307, json: {}, headers: { location: 'https://elsewhere.example/' } }),
    });

    const error = await server
      .client()
      .request(WRITE)
      .catch((caught: unknown) => caught);

    expect(error).toMatchObject({ kind: 'unexpected-reply', status: 307, outcome: 'not-done' });
  });
});

describe('the wait of the credential hand-off', () => {
  const failure = (kind: KubeErrorKind) =>
    new KubeError({ kind, server: 'https://10.0.0.1:6443', doing: 'x', found: 'y', outcome: 'not-done' });

  it.each([
    ['unreachable', true],
    ['timeout', true],
    ['discovery', true],
    ['webhook', true],
    ['too-many-requests', true],
    ['untrusted-server', false],
    ['untrusted-client', false],
    ['unauthorized', false],
    ['forbidden', false],
    ['not-found', false],
    ['invalid', false],
    ['conflict', false],
    ['server-error', false],
    ['cancelled', false],
    ['unexpected-reply', false],
  ] as const)('%s: %s', (kind, waits) => {
    expect(isTransientForHandoff(failure(kind))).toBe(waits);
  });

  it('does not wait for an error that is not an API server’s', () => {
    expect(isTransientForHandoff(new Error('failed calling webhook'))).toBe(false);
  });
});

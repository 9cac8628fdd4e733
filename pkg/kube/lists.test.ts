import { describe, expect, it } from 'vitest';
import { type Answer, aStatus, type SeenRequest, startKubeServer } from '../../test/builders/kube-server.ts';
import { listAll } from './index.ts';

/** Serves `names` in pages of what is asked, and lets the test break a page by the number of its request. */
function pagesOf(names: readonly string[], broken: Readonly<Record<number, Answer>> = {}) {
  let requests = 0;
  return (request: SeenRequest): Answer => {
    requests += 1;
    const failure = broken[requests];
    if (failure !== undefined) return failure;
    const limit = Number(request.query.get('limit'));
    const from = Number(request.query.get('continue') ?? 0);
    const next = from + limit < names.length ? String(from + limit) : undefined;
    return {
      json: {
        metadata: { resourceVersion: '77', ...(next === undefined ? {} : { continue: next }) },
        items: names.slice(from, from + limit).map((name) => ({ metadata: { name } })),
      },
    };
  };
}

const NAMES = ['a', 'b', 'c', 'd', 'e'];
const REQUEST = { path: '/api/v1/nodes', doing: 'list the nodes', pageSize: 2 } as const;
const EXPIRED = aStatus(410, 'Expired', 'The provided continue parameter is too old');

describe('a complete list', () => {
  it('has every page', async () => {
    await using server = await startKubeServer({ answer: pagesOf(NAMES) });

    const list = await listAll<{ metadata: { name: string } }>(server.client(), REQUEST);

    expect(list.items.map((item) => item.metadata.name)).toEqual(NAMES);
    expect(list.resourceVersion).toBe('77');
    expect(server.seen.map((request) => request.query.get('limit'))).toEqual(['2', '2', '2']);
  });

  it('starts over when its snapshot is gone, and has nothing twice', async () => {
    await using server = await startKubeServer({ answer: pagesOf(NAMES, { 2: EXPIRED }) });

    const list = await listAll<{ metadata: { name: string } }>(server.client(), REQUEST);

    expect(list.items.map((item) => item.metadata.name)).toEqual(NAMES);
    expect(server.seen.map((request) => request.query.get('continue'))).toEqual([null, '2', null, '2', '4']);
  });

  it('gives up with the error when the snapshot is gone three times', async () => {
    const answer = (request: SeenRequest) => (request.query.has('continue') ? EXPIRED : pagesOf(NAMES)(request));
    await using server = await startKubeServer({ answer });

    await expect(listAll(server.client(), REQUEST)).rejects.toMatchObject({ kind: 'expired' });
    expect(server.seen).toHaveLength(6);
  });

  it('is never a part: a page that fails fails the list', async () => {
    await using server = await startKubeServer({
      answer: pagesOf(NAMES, { 3: aStatus(500, 'InternalError', 'boom') }),
    });

    await expect(listAll(server.client(), REQUEST)).rejects.toMatchObject({ kind: 'server-error' });
  });

  it('may be empty, in each of the ways in which servers say so', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: { metadata: {}, items: null } }) });

    expect(await listAll(server.client(), REQUEST)).toEqual({ items: [], resourceVersion: '' });
  });

  it('can leave everything but the metadata on the server', async () => {
    await using server = await startKubeServer({ answer: pagesOf(NAMES) });

    await listAll(server.client(), { ...REQUEST, pageSize: 10, metadataOnly: true });

    expect(server.seen[0]?.headers.accept).toContain('as=PartialObjectMetadataList;g=meta.k8s.io;v=v1');
  });
});

import { describe, expect, it } from 'vitest';
import { aNode } from '../../test/builders/kube-objects.ts';
import { type Answer, aStatus, type SeenRequest, startKubeServer } from '../../test/builders/kube-server.ts';
import { cordonNode, uncordonNode } from './index.ts';

const OURS = { 'ichor.maesh.dev/cordoned-by': 'rotate-1' };
const REQUEST = { node: 'cp-1', owner: 'rotate-1' };

/** A server with one node; patches answer with `patched`, one after the other, and then succeed. */
function withNode(node: object, patched: readonly Answer[] = []) {
  const answers = [...patched];
  return ({ method }: SeenRequest): Answer => (method === 'GET' ? { json: node } : (answers.shift() ?? { json: node }));
}

describe('cordon', () => {
  it('makes the node unschedulable and notes the owner, against the version that it read', async () => {
    await using server = await startKubeServer({
      answer: withNode(aNode('cp-1', { metadata: { resourceVersion: '42' } })),
    });

    expect(await cordonNode(server.client(), REQUEST)).toBe('cordoned');

    expect(server.seen[1]).toMatchObject({
      method: 'PATCH',
      path: '/api/v1/nodes/cp-1',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: {
        metadata: { resourceVersion: '42', annotations: { 'ichor.maesh.dev/cordoned-by': 'rotate-1' } },
        spec: { unschedulable: true },
      },
    });
  });

  it('leaves a node that somebody else cordoned, and says so', async () => {
    await using server = await startKubeServer({ answer: withNode(aNode('cp-1', { spec: { unschedulable: true } })) });

    expect(await cordonNode(server.client(), REQUEST)).toBe('cordoned-by-other');

    expect(server.seen.map(({ method }) => method)).toEqual(['GET']);
  });

  it('knows its own cordon again after a restart and writes nothing', async () => {
    const node = aNode('cp-1', { metadata: { annotations: OURS }, spec: { unschedulable: true } });
    await using server = await startKubeServer({ answer: withNode(node) });

    expect(await cordonNode(server.client(), REQUEST)).toBe('cordoned');

    expect(server.seen.map(({ method }) => method)).toEqual(['GET']);
  });

  it('decides again when the node changed between reading and writing', async () => {
    const conflict = aStatus(409, 'Conflict', 'the object has been modified', { name: 'cp-1' });
    await using server = await startKubeServer({ answer: withNode(aNode('cp-1'), [conflict]) });

    expect(await cordonNode(server.client(), REQUEST)).toBe('cordoned');

    expect(server.seen.map(({ method }) => method)).toEqual(['GET', 'PATCH', 'GET', 'PATCH']);
  });

  it('does not try again what may have been done', async () => {
    await using server = await startKubeServer({
      answer: withNode(aNode('cp-1'), [aStatus(500, 'InternalError', 'etcdserver: request timed out')]),
    });

    await expect(cordonNode(server.client(), REQUEST)).rejects.toMatchObject({
      kind: 'server-error',
      outcome: 'unknown',
    });
    expect(server.seen).toHaveLength(2);
  });
});

describe('uncordon', () => {
  it('undoes its own cordon and takes its note away', async () => {
    const node = aNode('cp-1', {
      metadata: { annotations: OURS, resourceVersion: '43' },
      spec: { unschedulable: true },
    });
    await using server = await startKubeServer({ answer: withNode(node) });

    expect(await uncordonNode(server.client(), REQUEST)).toBe('uncordoned');

    expect(server.seen[1]?.body).toEqual({
      metadata: { resourceVersion: '43', annotations: { 'ichor.maesh.dev/cordoned-by': null } },
      spec: { unschedulable: null },
    });
  });

  it.each([
    ['a person', {}],
    ['another operation', { annotations: { 'ichor.maesh.dev/cordoned-by': 'rotate-2' } }],
  ])('leaves a node that %s cordoned', async (_who, metadata) => {
    const node = aNode('cp-1', { metadata, spec: { unschedulable: true } });
    await using server = await startKubeServer({ answer: withNode(node) });

    expect(await uncordonNode(server.client(), REQUEST)).toBe('not-ours');

    expect(server.seen.map(({ method }) => method)).toEqual(['GET']);
  });

  it('is content when the node is gone', async () => {
    await using server = await startKubeServer({
      answer: () => aStatus(404, 'NotFound', 'nodes "cp-1" not found', { name: 'cp-1', kind: 'nodes' }),
    });

    expect(await uncordonNode(server.client(), REQUEST)).toBe('gone');
  });
});

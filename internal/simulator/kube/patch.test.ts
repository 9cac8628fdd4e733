import { describe, expect, it } from 'vitest';
import { PatchError, patched } from './patch.ts';

const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';

describe('patches', () => {
  it.each([
    [{ a: 1, b: { c: 2 } }, { b: { d: 3 } }, { a: 1, b: { c: 2, d: 3 } }],
    [{ a: 1, b: 2 }, { a: null }, { b: 2 }],
    [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
    [{ a: { b: 1 } }, { a: 'text' }, { a: 'text' }],
    [{}, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
  ])('a merge patch of %j by %j is %j', (before, patch, after) => {
    expect(patched(before, patch, MERGE)).toEqual(after);
  });

  it.each([
    [
      { containers: [{ name: 'a', image: 'x' }, { name: 'b' }] },
      { containers: [{ name: 'a', image: 'y' }] },
      { containers: [{ name: 'a', image: 'y' }, { name: 'b' }] },
    ],
    [
      { containers: [{ name: 'a' }, { name: 'b' }] },
      { containers: [{ name: 'a', $patch: 'delete' }] },
      { containers: [{ name: 'b' }] },
    ],
    [{ containers: [{ name: 'a' }] }, { containers: [{ name: 'c' }] }, { containers: [{ name: 'a' }, { name: 'c' }] }],
    [{ taints: [{ key: 'a' }] }, { taints: [{ key: 'b' }] }, { taints: [{ key: 'b' }] }],
    [{ a: { b: 1, c: 2 } }, { a: { $patch: 'replace', c: 3 } }, { a: { c: 3 } }],
    [{ a: { b: 1 } }, { a: { $patch: 'delete' } }, {}],
    [{ a: 1 }, { $retainKeys: ['a'], b: 2 }, { a: 1, b: 2 }],
    [{ unschedulable: true }, { unschedulable: null }, {}],
  ])('a strategic merge patch of %j by %j is %j', (before, patch, after) => {
    expect(patched(before, patch, STRATEGIC)).toEqual(after);
  });

  it.each([
    [{ a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    [{ a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    [{ a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    [{ a: 1 }, [{ op: 'replace', path: '/a', value: 2 }], { a: 2 }],
    [
      { 'a/b': 1, 'c~d': 2 },
      [
        { op: 'remove', path: '/a~1b' },
        { op: 'remove', path: '/c~0d' },
      ],
      {},
    ],
    [{ a: 1 }, [{ op: 'move', from: '/a', path: '/b' }], { b: 1 }],
    [{ a: { x: 1 } }, [{ op: 'copy', from: '/a', path: '/b' }], { a: { x: 1 }, b: { x: 1 } }],
  ])('a JSON patch of %j by %j is %j', (before, patch, after) => {
    const kept = structuredClone(before);

    expect(patched(before, patch, JSON_PATCH)).toEqual(after);
    expect(before).toEqual(kept);
  });

  it.each([
    [[{ op: 'test', path: '/a', value: 2 }], 'the test of /a failed'],
    [[{ op: 'remove', path: '/b' }], 'there is no /b'],
    [[{ op: 'replace', path: '/b', value: 1 }], 'there is no /b'],
    [[{ op: 'add', path: '/b/c', value: 1 }], 'there is nothing to hold /b/c'],
    [[{ op: 'grow', path: '/a' }], 'the operation "grow" is not known'],
    [{}, 'a JSON patch is a list of operations'],
  ])('a JSON patch %j is refused: %s', (patch, why) => {
    expect(() => patched({ a: 1 }, patch, JSON_PATCH)).toThrow(new PatchError(why));
  });
});

import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../pkg/kube/index.ts';
import { type Applied, applied } from './apply.ts';

const aMap = (data: Record<string, string>): KubeObject =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'map' }, data }) as unknown as KubeObject;

const by = (manager: string, force = false) => ({ manager, force, now: Date.UTC(2026, 10, 30) });

function objectOf(result: Applied): KubeObject {
  if (!result.ok) throw new Error(JSON.stringify(result.conflicts));
  return result.object;
}

const dataOf = (object: KubeObject): unknown => (object as unknown as { data: unknown }).data;

describe('server-side apply', () => {
  it('takes away what the same manager does not apply any more, and nothing of others', () => {
    const first = objectOf(applied(undefined, aMap({ a: '1', b: '1' }), by('one')));
    const second = objectOf(applied(first, aMap({ c: '2' }), by('two')));

    const third = objectOf(applied(second, aMap({ b: '3' }), by('one')));

    expect(dataOf(third)).toEqual({ b: '3', c: '2' });
  });

  it('keeps a field that two own until both let it go', () => {
    const first = objectOf(applied(undefined, aMap({ a: '1', b: '1' }), by('one')));
    const second = objectOf(applied(first, aMap({ a: '1' }), by('two')));
    const third = objectOf(applied(second, aMap({ b: '1' }), by('one')));
    expect(dataOf(third)).toEqual({ a: '1', b: '1' });

    const fourth = objectOf(applied(third, aMap({ c: '1' }), by('two')));

    expect(dataOf(fourth)).toEqual({ b: '1', c: '1' });
  });

  it('refuses to change what somebody else owns, unless it is forced; then that is ours alone', () => {
    const first = objectOf(applied(undefined, aMap({ a: '1' }), by('one')));

    expect(applied(first, aMap({ a: '2' }), by('two'))).toEqual({
      ok: false,
      conflicts: [{ path: '.data.a', manager: 'one' }],
    });
    const forced = objectOf(applied(first, aMap({ a: '2' }), by('two', true)));
    expect(dataOf(forced)).toEqual({ a: '2' });
    expect(applied(forced, aMap({ a: '1' }), by('one'))).toMatchObject({ ok: false });
  });

  it('changes nothing when the same is applied again, not even a time', () => {
    const first = objectOf(applied(undefined, aMap({ a: '1' }), by('one')));

    const again = objectOf(applied(first, aMap({ a: '1' }), { ...by('one'), now: Date.UTC(2027, 0, 1) }));

    expect(again).toEqual(first);
  });
});

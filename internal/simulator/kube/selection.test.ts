import { describe, expect, it } from 'vitest';
import { PODS } from './pods.ts';
import { selectionOf } from './selection.ts';

const pod = {
  metadata: {
    name: 'web-1',
    namespace: 'default',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: 'web', tier: 'front' },
  },
  spec: { nodeName: 'w1' },
  status: { phase: 'Running' },
};

describe('selectors of a list', () => {
  it.each([
    ['labelSelector', 'app=web', true],
    ['labelSelector', 'app==web,tier=front', true],
    ['labelSelector', 'app=web,tier=back', false],
    ['labelSelector', 'app!=web', false],
    ['labelSelector', 'other!=x', true],
    ['labelSelector', 'app in (web, db)', true],
    ['labelSelector', 'app notin (web,db),tier', false],
    ['labelSelector', 'tier', true],
    ['labelSelector', '!tier', false],
    ['labelSelector', '!other', true],
    ['fieldSelector', 'spec.nodeName=w1', true],
    ['fieldSelector', 'spec.nodeName=w2', false],
    ['fieldSelector', 'spec.nodeName=w1,status.phase!=Succeeded,status.phase!=Failed', true],
    ['fieldSelector', 'status.phase!=Running', false],
    ['fieldSelector', 'metadata.name=web-1', true],
  ])('%s %s picks the pod: %s', (kind, selector, picks) => {
    const selected = selectionOf(PODS, undefined, { [kind]: selector });

    expect(selected.ok && selected.selection.matches(pod)).toBe(picks);
  });

  it('keeps to one namespace', () => {
    const of = (namespace: string) => selectionOf(PODS, namespace, {});

    expect([of('default'), of('other')].map((each) => each.ok && each.selection.matches(pod))).toEqual([true, false]);
  });

  it.each([
    [{ fieldSelector: 'spec.other=x' }, 'field label not supported: spec.other'],
    [{ fieldSelector: 'nonsense' }, 'invalid field selector'],
    [{ labelSelector: 'a b c' }, 'unable to parse the label selector "a b c"'],
  ])('%j is a bad request: %s', (query, message) => {
    const selected = selectionOf(PODS, undefined, query);

    expect(selected.ok ? undefined : selected.reply).toMatchObject({
      status: 400,
      body: { reason: 'BadRequest', message },
    });
  });
});

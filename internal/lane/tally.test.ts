import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { createTally, type Look } from './tally.ts';

/** A look at a cluster of two control planes in which nothing is wrong. */
function aLook(at: number, overrides: Partial<Look> = {}): Look {
  return {
    at,
    nodes: [],
    headers: ['front'],
    extensions: [],
    metrics: 'absent',
    boots: [
      ['cp1', 'a'],
      ['cp2', 'b'],
    ],
    perPlane: ['cp1', 'cp2'].map((name) => ({ name, members: ['m1', 'm2'], trust: ['old'], ready: true })),
    ...overrides,
  };
}

function tallyOf(...looks: readonly Look[]) {
  const tally = createTally(['cp1', 'cp2']);
  for (const look of looks) tally.add(look);
  return tally.watched();
}

describe('createTally', () => {
  it('counts a boot when another boot ID is seen, and not while nothing is', () => {
    const silent = aLook(1, {
      boots: [
        ['cp1', undefined],
        ['cp2', 'b'],
      ],
    });
    const again = aLook(2, {
      boots: [
        ['cp1', 'c'],
        ['cp2', 'b'],
      ],
    });

    const { boots, silentAtOnce } = tallyOf(aLook(0), silent, again, again);

    assert.deepEqual([boots, silentAtOnce], [{ cp1: 1 }, 1]);
  });

  it('measures the longest time without an answer, over several looks', () => {
    const unready = (at: number) =>
      aLook(at, {
        perPlane: [
          { name: 'cp1', members: undefined, trust: undefined, ready: false },
          { name: 'cp2', members: ['m1', 'm2'], trust: ['old'], ready: true },
        ],
      });

    const { longestUnreadyMs, allUnready } = tallyOf(
      aLook(0),
      unready(1_000),
      unready(2_000),
      unready(4_000),
      aLook(5_000),
      unready(6_000),
    );

    assert.deepEqual([longestUnreadyMs, allUnready], [{ cp1: 3_000 }, 0]);
  });

  it('counts every time at which no API server was ready once', () => {
    const none = (at: number) =>
      aLook(at, {
        perPlane: ['cp1', 'cp2'].map((name) => ({ name, members: undefined, trust: undefined, ready: false })),
      });

    assert.equal(tallyOf(none(0), none(1), aLook(2), none(3)).allUnready, 2);
  });

  it('keeps what a trust file held in turn, without what could not be read', () => {
    const trusting = (at: number, trust: readonly string[] | undefined) =>
      aLook(at, { perPlane: [{ name: 'cp1', members: undefined, trust, ready: true }] });

    const { trustFiles } = tallyOf(
      trusting(0, ['old']),
      trusting(1, ['old', 'new']),
      trusting(2, undefined),
      trusting(3, ['old', 'new']),
      trusting(4, ['new']),
    );

    assert.deepEqual(trustFiles, { cp1: [['old'], ['old', 'new'], ['new']], cp2: [] });
  });

  it('names a member that a list has lost, and no list that was not given', () => {
    const listing = (members: readonly string[] | undefined) =>
      aLook(0, { perPlane: [{ name: 'cp1', members, trust: ['old'], ready: true }] });

    assert.deepEqual(tallyOf(listing(['m1', 'm2']), listing(undefined)).lostMembers, []);
    assert.deepEqual(tallyOf(listing(['m1', 'm2']), listing(['m2'])).lostMembers, ['cp1: m1']);
  });

  it('counts cordoned Nodes at once and in all', () => {
    const cordoned = (...names: string[]) => aLook(0, { nodes: names.map((name) => ({ name, cordoned: true })) });

    const watched = tallyOf(cordoned('cp1'), cordoned('cp2'));

    assert.deepEqual([watched.cordonedAtOnce, watched.cordoned], [1, ['cp1', 'cp2']]);
  });

  it('counts how often the metrics API was asked, where it is installed', () => {
    const { metrics } = tallyOf(aLook(0), aLook(1, { metrics: 'answered' }), aLook(2, { metrics: 'failed' }));

    assert.deepEqual(metrics, { asked: 2, failed: 1 });
  });
});

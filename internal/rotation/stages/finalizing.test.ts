import { describe, expect, it } from 'vitest';
import { ago, anObservation, type ObservationOptions } from '../../../test/builders/rotation.ts';
import { decide } from '../decide.ts';

function finalizing(options: ObservationOptions = {}) {
  return anObservation({ stage: 'Finalizing', targets: ['talos', 'etcd'], ...options });
}

const apid = {
  what: 'talos client certificate at 10.0.0.1:50000',
  outcome: 'refused',
  message: 'bad certificate',
} as const;
const etcd = { what: 'etcd client certificate at 10.0.0.2:2379', message: 'it was let in' } as const;

describe('Finalizing', () => {
  it('replaces the bundle first, in one step', () => {
    expect(decide(finalizing({ store: { bundleReplaced: false } }))).toEqual({
      kind: 'act',
      effect: { kind: 'replace-bundle' },
      reason: 'ReplacingBundle',
      message: 'replacing talos, etcd in the bundle',
    });
  });

  it('tries the old credentials', () => {
    expect(decide(finalizing({ refusals: undefined }))).toEqual({
      kind: 'wait',
      reason: 'ProvingRefusal',
      message: 'trying the old credentials everywhere',
      recheckAfterMs: 1500,
    });
  });

  it('does not take an empty list of trials for a proof', () => {
    expect(decide(finalizing({ refusals: [] }))).toMatchObject({ kind: 'wait', reason: 'ProvingRefusal' });
  });

  it('blocks where an old credential is accepted', () => {
    expect(decide(finalizing({ refusals: [apid, { ...etcd, outcome: 'accepted' }] }))).toEqual({
      kind: 'blocked',
      reason: 'OldCredentialAccepted',
      message: 'etcd client certificate at 10.0.0.2:2379: it was let in; expected it to be refused',
      recheckAfterMs: 30_000,
    });
  });

  it('tries again where a trial proved nothing, and says so where it goes on proving nothing', () => {
    const refusals = [apid, { ...etcd, outcome: 'unknown', message: 'timeout' }] as const;
    const expected = { reason: 'ProvingRefusal', message: 'etcd client certificate at 10.0.0.2:2379: timeout' };

    expect(decide(finalizing({ refusals, status: { stageStartedAt: ago(179) } }))).toEqual({
      ...expected,
      kind: 'wait',
      recheckAfterMs: 1500,
    });
    expect(decide(finalizing({ refusals, status: { stageStartedAt: ago(180) } }))).toEqual({
      ...expected,
      kind: 'blocked',
      recheckAfterMs: 30_000,
    });
  });

  it('holds for an endpoint that cannot be reached, and lets go of it only where that was asked for and nothing of ours restarts', () => {
    const refusals = [apid, { ...etcd, outcome: 'unreachable', message: 'connect ETIMEDOUT' }] as const;
    const waiting = { status: { stageStartedAt: ago(179) } };
    const settled = { status: { stageStartedAt: ago(180) } };
    const report = { unreachableEndpoints: 'Report' } as const;
    const held = { reason: 'ProvingRefusal', message: 'etcd client certificate at 10.0.0.2:2379: connect ETIMEDOUT' };

    expect(decide(finalizing({ refusals, ...settled }))).toMatchObject({ kind: 'blocked', ...held });
    expect(decide(finalizing({ refusals, ...settled, unreachableEndpoints: 'Hold' }))).toMatchObject({
      kind: 'blocked',
      ...held,
    });
    expect(decide(finalizing({ refusals, ...waiting, ...report }))).toMatchObject({ kind: 'wait', ...held });
    expect(decide(finalizing({ refusals, ...settled, ...report }))).toEqual({
      kind: 'act',
      effect: { kind: 'enter-stage', stage: 'Done' },
      reason: 'Completed',
      message:
        'talos, etcd: nothing is left on the old certificate authorities; not tried, because it could not be reached: etcd client certificate at 10.0.0.2:2379: connect ETIMEDOUT',
    });
  });

  it('names every endpoint that was not tried', () => {
    const unreachable = { outcome: 'unreachable', message: 'connect ETIMEDOUT' } as const;
    const refusals = [
      { ...apid, ...unreachable },
      { ...etcd, ...unreachable },
    ];
    const options = { refusals, status: { stageStartedAt: ago(180) }, unreachableEndpoints: 'Report' } as const;

    expect(decide(finalizing(options))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Done' },
      message:
        'talos, etcd: nothing is left on the old certificate authorities; not tried, because it could not be reached: talos client certificate at 10.0.0.1:50000: connect ETIMEDOUT; etcd client certificate at 10.0.0.2:2379: connect ETIMEDOUT',
    });
  });

  it('never lets go of an answer that is neither yes nor no, nor of one that is yes', () => {
    const silent = { ...etcd, outcome: 'unreachable', message: 'connect ETIMEDOUT' } as const;
    const options = { status: { stageStartedAt: ago(999) }, unreachableEndpoints: 'Report' } as const;

    expect(
      decide(finalizing({ ...options, refusals: [silent, { ...etcd, outcome: 'unknown', message: 'closed: ' }] })),
    ).toMatchObject({
      kind: 'blocked',
      reason: 'ProvingRefusal',
      message: 'etcd client certificate at 10.0.0.2:2379: closed: ',
    });
    expect(decide(finalizing({ ...options, refusals: [silent, { ...etcd, outcome: 'accepted' }] }))).toMatchObject({
      kind: 'blocked',
      reason: 'OldCredentialAccepted',
    });
  });

  it('leaves nothing cordoned that it cordoned', () => {
    const except = { cp2: { node: { cordoned: true, cordonedByUs: true } }, w1: { node: { cordoned: true } } };

    expect(decide(finalizing({ except }))).toEqual({
      kind: 'act',
      effect: { kind: 'uncordon', machine: 'cp2' },
      reason: 'RollingControlPlanes',
      message: 'cp2 is still cordoned by this rotation; letting pods back',
    });
  });

  it('then writes Done', () => {
    expect(decide(finalizing())).toEqual({
      kind: 'act',
      effect: { kind: 'enter-stage', stage: 'Done' },
      reason: 'Completed',
      message: 'talos, etcd: nothing is left on the old certificate authorities',
    });
  });

  it('takes up a machine that joined with the old configuration, which reopens the stage', () => {
    expect(decide(finalizing({ except: { cp3: { stands: 'Issuing' } } }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'cp3', stage: 'Dropping' },
    });
  });
});

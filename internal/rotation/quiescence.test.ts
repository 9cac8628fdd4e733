import { describe, expect, it } from 'vitest';
import type { CaRotationStatus } from '../../api/v1alpha1/index.ts';
import type { MachineOptions } from '../../test/builders/machine.ts';
import { ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { decide } from './decide.ts';

type Call = CaRotationStatus['inFlight'][number];

/** A call to `cp2`, sent in `boot-1`, whose deadline passed this many seconds ago (negative: is still to come). */
function lost(seconds: number, call: Partial<Call> = {}): Call {
  return { machine: 'cp2', call: 'apply', bootID: 'boot-1', deadline: ago(seconds), ...call };
}

function decideAfter(calls: Call[], cp2: MachineOptions = {}, options: ObservationOptions = {}) {
  // cp1 is still to be told, so that something would be sent if it were not for the call.
  const except = { cp1: { stands: 'Before' } as const, cp2, ...options.except };
  return decide(anObservation({ ...options, except, status: { inFlight: calls, ...options.status } }));
}

describe('after a call whose reply was lost', () => {
  it.each([-30, 0, 9])('nothing is sent before its deadline and ten seconds are past (%i s)', (seconds) => {
    expect(decideAfter([lost(seconds)])).toEqual({
      kind: 'wait',
      reason: 'NotQuiescent',
      message: 'the reply of cp2 to apply was lost',
      recheckAfterMs: 1500,
      watch: ['cp2'],
    });
  });

  it('the call is forgotten when they are past and the machine answers', () => {
    expect(decideAfter([lost(10)])).toEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'NotQuiescent',
      message: 'the reply of cp2 to apply was lost; it can no longer take effect',
      mark: { inFlight: [] },
    });
  });

  it('one of another process has its full time from when this one looked first, whatever its deadline says', () => {
    const hourAgo = lost(3_600);

    expect(decideAfter([hourAgo], {}, { watchedMs: 39_999 })).toMatchObject({ kind: 'wait', reason: 'NotQuiescent' });
    expect(decideAfter([hourAgo], {}, { watchedMs: 40_000 })).toMatchObject({ mark: { inFlight: [] } });
  });

  it('the call is forgotten at once when the machine is in another boot, which no old connection reaches', () => {
    expect(decideAfter([lost(-30)], { boot: 'boot-2' })).toMatchObject({ mark: { inFlight: [] } });
  });

  it('a machine that does not answer may still do it: nothing is sent to any', () => {
    expect(decideAfter([lost(600)], { unknown: 'unreachable' })).toEqual({
      kind: 'blocked',
      reason: 'MachineUnknown',
      message: 'the reply of cp2 to apply was lost, and it has not answered since',
      recheckAfterMs: 30_000,
    });
  });

  it('a machine that was told a moment ago may be away for a while', () => {
    const status = { applied: [wasTold('cp2', 'Accepting', { appliedAt: ago(45) })] };

    expect(decideAfter([lost(15)], { unknown: 'unreachable' }, { status })).toMatchObject({
      kind: 'wait',
      reason: 'MachineUnknown',
    });
  });

  it('a machine that reboots for us is expected to be silent', () => {
    const status = {
      etcdRebooting: 'cp2',
      etcdRebootBootID: 'boot-1',
      etcdRestartedAt: ago(60),
      etcdRebootSince: ago(60),
    };

    expect(
      decideAfter([lost(30, { call: 'reboot' })], { unknown: 'unreachable' }, { targets: ['etcd'], status }),
    ).toMatchObject({
      kind: 'wait',
      reason: 'RebootingEtcd',
    });
  });

  it('and the call to another machine is waited for all the same', () => {
    const status = { etcdRebooting: 'cp2', etcdRebootBootID: 'boot-1', etcdRestartedAt: ago(60) };
    const calls = [lost(30, { call: 'reboot' }), lost(-5, { machine: 'cp3' })];

    expect(decideAfter(calls, { unknown: 'unreachable' }, { targets: ['etcd'], status })).toMatchObject({
      kind: 'wait',
      reason: 'NotQuiescent',
      message: 'the reply of cp3 to apply was lost',
    });
  });

  it('but not before the call can no longer land', () => {
    const status = {
      etcdRebooting: 'cp2',
      etcdRebootBootID: 'boot-1',
      etcdRestartedAt: ago(20),
      etcdRebootSince: ago(20),
    };

    expect(
      decideAfter([lost(-10, { call: 'reboot' })], { unknown: 'unreachable' }, { targets: ['etcd'], status }),
    ).toMatchObject({
      reason: 'NotQuiescent',
      message: 'the reply of cp2 to reboot was lost',
    });
  });

  it('a machine that is no longer part of the cluster is not waited for', () => {
    const observation = anObservation({ status: { inFlight: [lost(10, { machine: 'cp9' })] } });

    expect(decide(observation)).toMatchObject({
      message: 'the reply of cp9 to apply was lost; the machine is no longer part of the cluster',
      mark: { inFlight: [] },
    });
  });

  it('a machine that is missing from an incomplete list is waited for', () => {
    const inFlight = [lost(10, { machine: 'cp9' })];

    expect(
      decide(anObservation({ machinesIncomplete: 'no API server listed the Nodes', status: { inFlight } })),
    ).toMatchObject({
      kind: 'blocked',
      reason: 'MachineUnknown',
    });
  });

  it('each of several calls is waited for', () => {
    const calls = [lost(10), lost(-5, { machine: 'w1' })];

    expect(decideAfter(calls)).toMatchObject({ mark: { inFlight: [calls[1]] } });
    expect(decideAfter([lost(-5, { machine: 'w1' })])).toMatchObject({
      reason: 'NotQuiescent',
      message: 'the reply of w1 to apply was lost',
    });
  });

  it('a pause does not make it safe to forget it', () => {
    expect(decideAfter([lost(5)], {}, { paused: true })).toMatchObject({ reason: 'NotQuiescent' });
  });

  it('not even an abandon begins before it', () => {
    expect(decideAfter([lost(9)], {}, { deleted: true })).toEqual({
      kind: 'wait',
      reason: 'NotQuiescent',
      message: 'the reply of cp2 to apply was lost',
      recheckAfterMs: 1500,
      // Nothing that cp2 shows ends it.
      watch: [],
    });
    expect(decideAfter([lost(10)], {}, { deleted: true })).toMatchObject({ reason: 'Reverting' });
  });
});

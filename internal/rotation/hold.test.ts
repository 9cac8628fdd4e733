import { describe, expect, it } from 'vitest';
import type { CaRotationStatus, Reason } from '../../api/v1alpha1/index.ts';
import { ago, anObservation, wasTold } from '../../test/builders/rotation.ts';
import { contextOf } from './decide.ts';
import { hold, sinceLastChange } from './hold.ts';

/** Nothing was changed but what is said. */
function changed(status: Partial<CaRotationStatus>) {
  const observation = anObservation({ status: { applied: [], ...status } });
  const { stageStartedAt: _entered, ...caRotation } = observation.operation.status.caRotation;
  const shown = status.stageStartedAt === undefined ? caRotation : observation.operation.status.caRotation;
  const operation = { ...observation.operation, status: { ...observation.operation.status, caRotation: shown } };
  return contextOf({ ...observation, operation });
}

describe('what is in the way', () => {
  /** What a restart of a process or a machine looks like from outside while it lasts. */
  const passing: readonly Reason[] = [
    'MachineUnknown',
    'MachineUntrusted',
    'MachineListIncomplete',
    'KubernetesUnknown',
    'EtcdNotWhole',
    'EtcdPkiNotLoaded',
    'ApiServerNotReady',
    'NodeNotReady',
    'ControlPlanePodNotReady',
    'ProvingMachine',
    'RenewingTalosAccess',
    'SettlingAggregator',
    'PublishingRootCA',
    'ResettingAuthentication',
    'ProvingRefusal',
  ];

  it.each(passing)('is waited for within three minutes of a change of ours: %s', (reason) => {
    const blocker = { reason, message: 'found something' };

    expect(hold(changed({ etcdRestartedAt: ago(179) }), blocker)).toEqual({
      kind: 'wait',
      reason,
      message: 'found something',
      // A machine that was told is over it in seconds, and the next one waits for it.
      recheckAfterMs: reason === 'ProvingMachine' ? 500 : 1_500,
    });
    expect(hold(changed({ etcdRestartedAt: ago(180) }), blocker)).toEqual({
      kind: 'blocked',
      reason,
      message: 'found something',
      recheckAfterMs: 30_000,
    });
  });

  it.each(['MachineInMaintenance', 'ForeignConfiguration', 'EtcdAlarm', 'ClusterTransitioning', 'RecordLost'] as const)(
    'blocks at once where no restart explains it: %s',
    (reason) => {
      expect(hold(changed({ etcdRestartedAt: ago(0) }), { reason, message: 'found something' }).kind).toBe('blocked');
    },
  );
});

describe('the last change', () => {
  it('is the youngest of what was told, rebooted and entered', () => {
    const told = [
      wasTold('cp1', 'Accepting', { appliedAt: ago(20) }),
      wasTold('w1', 'Accepting', { appliedAt: ago(50) }),
    ];

    expect(sinceLastChange(changed({ applied: told, etcdRestartedAt: ago(30), stageStartedAt: ago(40) }))).toBe(20_000);
    expect(sinceLastChange(changed({ applied: told, etcdRestartedAt: ago(10), stageStartedAt: ago(40) }))).toBe(10_000);
    expect(sinceLastChange(changed({ applied: told, etcdRestartedAt: ago(30), stageStartedAt: ago(5) }))).toBe(5_000);
  });

  it('never was where nothing was changed', () => {
    expect(sinceLastChange(changed({}))).toBe(Number.POSITIVE_INFINITY);
  });
});

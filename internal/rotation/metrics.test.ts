import { describe, expect, it } from 'vitest';
import { ago, anObservation } from '../../test/builders/rotation.ts';
import { decide } from './decide.ts';
import { metricsOf } from './metrics.ts';

function metrics(observation: ReturnType<typeof anObservation>): string[] {
  const text = metricsOf({ operation: observation.operation, decision: decide(observation), observation });
  expect(text).toMatch(/\n$/);
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

describe('a look as metrics', () => {
  it('says what the operation does, and that nobody is needed for it', () => {
    const except = { cp1: { stands: 'Before' } } as const;

    expect(metrics(anObservation({ workers: 1, except, status: { stageStartedAt: ago(60) } }))).toEqual([
      'ichor_operation_info{operation="rotate-1",stage="Accepting",phase="InProgress",state="acting",reason="ApplyingConfiguration"} 1',
      'ichor_operation_stage{operation="rotate-1"} 1',
      'ichor_operation_needs_somebody{operation="rotate-1"} 0',
      'ichor_operation_rebooting{operation="rotate-1"} 0',
      'ichor_operation_machines{operation="rotate-1",answered="true"} 4',
      'ichor_operation_machines{operation="rotate-1",answered="false"} 0',
      'ichor_operation_stage_start_time_seconds{operation="rotate-1"} 1793879940',
      'ichor_operation_last_look_time_seconds{operation="rotate-1"} 1793880000',
    ]);
  });

  it('says that somebody is needed, and which machines did not answer', () => {
    const told = metrics(anObservation({ workers: 1, except: { w1: { unknown: 'unreachable' } } }));

    expect(told).toContain('ichor_operation_needs_somebody{operation="rotate-1"} 1');
    expect(told).toContain('ichor_operation_machines{operation="rotate-1",answered="false"} 1');
    expect(told[0]).toContain('state="blocked",reason="MachineUnknown"');
  });

  it('says that a control plane is rebooting, and describes each number once', () => {
    const status = {
      etcdRebooting: 'cp2',
      etcdRebootBootID: 'boot-1',
      etcdRestartedAt: ago(5),
      etcdRebootSince: ago(5),
    };
    const observation = anObservation({ targets: ['etcd'], status });
    const text = metricsOf({ operation: observation.operation, decision: decide(observation), observation });

    expect(text).toContain('ichor_operation_rebooting{operation="rotate-1"} 1\n');
    expect(text.match(/^# TYPE (\S+) gauge$/gm)).toHaveLength(7);
    expect(text).toContain(
      '# HELP ichor_operation_stage The stage as a number: 0 Pending, 1 Accepting, 2 AwaitingCredentials, 3 Issuing, 4 Dropping, 5 Finalizing, 6 Done.\n',
    );
  });

  it('leaves the beginning of a stage out before there is one', () => {
    expect(metrics(anObservation({ stage: 'Pending' })).some((line) => line.includes('stage_start'))).toBe(false);
  });
});

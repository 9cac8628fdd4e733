import { describe, expect, it } from 'vitest';
import { anObservation, type ObservationOptions } from '../../test/builders/rotation.ts';
import { contextOf, decide } from './decide.ts';
import { remember } from './pass.ts';

const sick = { kubelet: { running: true, healthy: false } };

describe('a pass', () => {
  it.each<[string, ObservationOptions, string]>([
    ['a machine does not answer', { except: { w1: { unknown: 'unreachable' } } }, 'MachineUnknown'],
    [
      'somebody else changed a configuration',
      { except: { w1: { standing: { etcd: { stage: 'Foreign', why: 'another CA' } } } } },
      'ForeignConfiguration',
    ],
  ])('writes nothing down, not even a boot, while %s', (_what, options, reason) => {
    const status = { applied: [] };

    expect(decide(anObservation({ targets: ['etcd'], status }))).toMatchObject({ effect: { kind: 'update-status' } });
    expect(decide(anObservation({ targets: ['etcd'], status, ...options }))).toMatchObject({ kind: 'blocked', reason });
  });

  it('asks workers nothing before control planes are done, where they are not to be told first', () => {
    const except = { cp3: { stands: 'Before' }, w1: { talos: sick } } as const;

    expect(decide(anObservation({ targets: ['kubernetes'], except }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'cp3', stage: 'Accepting' },
    });
  });

  it('remembers no kube-apiserver of a worker, nor of a control plane where none runs', () => {
    const context = contextOf(anObservation({ stands: 'Before', except: { cp1: { instance: undefined } } }));
    const entries = context.observation.machines.flatMap((machine) =>
      machine.talos.known ? remember(context, [], { ...machine, talos: machine.talos }) : [],
    );

    expect(entries.map((entry) => [entry.machine, 'apiServerInstance' in entry])).toEqual([
      ['cp1', false],
      ['cp2', true],
      ['cp3', true],
      ['w1', false],
    ]);
  });
});

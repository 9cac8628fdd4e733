import { describe, expect, it } from 'vitest';
import type { MachineOptions } from '../../../test/builders/machine.ts';
import { anObservation, type ObservationOptions } from '../../../test/builders/rotation.ts';
import { contextOf } from '../decide.ts';
import { nodesReady } from './nodes-ready.ts';

const UNREADY: MachineOptions = { node: { ready: false } };

function ready(options: ObservationOptions) {
  return nodesReady(contextOf(anObservation({ targets: ['kubernetes'], workers: 2, stage: 'Dropping', ...options })));
}

describe('nodesReady while the old Kubernetes CA is dropped', () => {
  it('does not wait for a worker that is still to be told: no API server takes its kubelet any more', () => {
    const w1: MachineOptions = { ...UNREADY, standing: { kubernetes: { stage: 'Issuing' } } };

    expect(ready({ except: { w1 } })).toBeUndefined();
  });

  it('does not wait for a control plane that is still to be told either', () => {
    const cp3: MachineOptions = { ...UNREADY, standing: { kubernetes: { stage: 'Issuing' } } };

    expect(ready({ except: { cp3 } })).toBeUndefined();
  });

  it('waits for a worker that was told', () => {
    expect(ready({ except: { w1: UNREADY } })?.reason).toBe('NodeNotReady');
  });

  it('waits for a worker that no API server has shut out yet', () => {
    const standing = { kubernetes: { stage: 'Issuing' } } as const;
    const plane: MachineOptions = { standing };

    expect(ready({ except: { cp1: plane, cp2: plane, cp3: plane, w1: { ...UNREADY, standing } } })?.reason).toBe(
      'NodeNotReady',
    );
  });

  it('waits for a worker whose kubelet does not run: telling it would not bring it back', () => {
    const w1: MachineOptions = {
      ...UNREADY,
      standing: { kubernetes: { stage: 'Issuing' } },
      talos: { kubelet: { running: false, healthy: false } },
    };

    expect(ready({ except: { w1 } })?.reason).toBe('NodeNotReady');
  });

  it('waits in every other stage', () => {
    const w1: MachineOptions = { ...UNREADY, standing: { kubernetes: { stage: 'Accepting' } } };

    expect(ready({ stage: 'Issuing', except: { w1 } })?.reason).toBe('NodeNotReady');
  });

  it('waits in Issuing, though a control plane stands further on', () => {
    const cp1: MachineOptions = { standing: { kubernetes: { stage: 'Dropping' } } };

    expect(ready({ stage: 'Issuing', except: { cp1, w1: UNREADY } })?.reason).toBe('NodeNotReady');
  });

  it('needs one control plane that dropped it, whatever is unknown of the others', () => {
    const w1: MachineOptions = { ...UNREADY, standing: { kubernetes: { stage: 'Issuing' } } };

    expect(ready({ except: { cp1: { unknown: 'unreachable' }, w1 } })).toBeUndefined();
  });

  it.each(['talos', 'etcd', 'kubernetes-aggregator'] as const)(
    'waits for a machine that is to be told of the CA of %s, which no kubelet is known by',
    (target) => {
      const cp3: MachineOptions = { ...UNREADY, standing: { [target]: { stage: 'Issuing' } } };

      expect(ready({ targets: [target], except: { cp3 } })?.reason).toBe('NodeNotReady');
    },
  );
});

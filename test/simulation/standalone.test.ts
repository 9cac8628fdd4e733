import { describe, expect, it } from 'vitest';
import { simulations } from './one-world.ts';
import { plain } from './scenarios.ts';

describe('a worker whose kubelet does not register (skipNodeRegistration)', () => {
  const simulate = simulations();

  it('keeps the rotation from its start: it is in no list, and would be cut off in Dropping', async () => {
    const result = await simulate({ ...plain('3+2', ['talos']), standalone: ['w2'], expect: 'blocked' });
    const { status } = result.operation ?? {};

    expect([result.end, status?.stage, status?.reason]).toEqual(['blocked', 'Pending', 'MachineListIncomplete']);
    expect(status?.message).toBe(
      'without a Node, and of this cluster by discovery: w2 (10.5.1.5); expected a Node for every machine, ' +
        'because one without it (machine.kubelet.skipNodeRegistration) is told of no stage and cut off in Dropping',
    );
    expect(result.calls).toEqual(['store status']);
    expect(result.violations).toEqual([]);
  });

  it('does not keep one that no worker is told of', async () => {
    const result = await simulate({ ...plain('3+2', ['etcd']), standalone: ['w2'] });

    expect(result.violations).toEqual([]);
    expect(result.end).toBe('done');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { demoSummary, runDemo } from '../../internal/lab/index.ts';

describe('the demo', () => {
  it('replaces all four CAs of a lab under traffic, without a request that fails', async () => {
    const result = await runDemo({
      program: [process.execPath, 'cmd/ichor/main.ts'],
      controlPlanes: 3,
      workers: 1,
      bootSeconds: 1,
      settle: '1s',
      stdio: 'ignore',
      say: () => undefined,
    });

    assert.ok(result.isWhole, demoSummary(result));
    assert.deepEqual(
      result.reboots.map(({ machine, times }) => `${machine} ${times}`),
      ['cp1 2', 'cp2 2', 'cp3 2', 'w1 0'],
    );
    assert.equal(result.proofs.length, 13);
    assert.deepEqual(
      result.stages.map(({ stage }) => stage).filter((stage) => stage !== 'Pending'),
      ['Accepting', 'AwaitingCredentials', 'Issuing', 'Dropping', 'Finalizing', 'Done'],
    );
  });
});

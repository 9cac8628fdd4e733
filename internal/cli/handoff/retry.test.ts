import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { KubeError, type KubeErrorKind } from '../../../pkg/kube/index.ts';
import { TalosError } from '../../../pkg/talos/index.ts';
import { createManualClock, passTime } from '../../../test/builders/manual-clock.ts';
import { retryHandoff } from './retry.ts';

function kubeError(kind: KubeErrorKind, status?: number, retryAfterMs?: number): KubeError {
  return new KubeError({
    ...{ kind, retryAfterMs },
    server: 'https://10.0.0.1:6443',
    doing: 'ask who we are',
    found: kind,
    outcome: 'not-done',
    status,
  });
}

describe('retryHandoff', () => {
  it('waits 1, 2, 4, 8 and then 15 seconds between tries', async () => {
    const clock = createManualClock();
    const tries: number[] = [];

    const result = await passTime(
      clock,
      retryHandoff(
        async () => {
          tries.push(clock.monotonic() / 1000);
          if (tries.length < 7) throw kubeError('unreachable');
          return 'answered';
        },
        { clock, onWaiting: () => undefined },
      ),
    );

    assert.equal(result, 'answered');
    assert.deepEqual(tries, [0, 1, 3, 7, 15, 30, 45]);
  });

  it('waits for as long as the server asks, and no shorter than it would without', async () => {
    const clock = createManualClock();
    const errors = [20_000, 500, undefined].map((asked) => kubeError('too-many-requests', 429, asked));
    const tries: number[] = [];

    await passTime(
      clock,
      retryHandoff(
        async () => {
          tries.push(clock.monotonic() / 1000);
          const error = errors.shift();
          if (error !== undefined) throw error;
        },
        { clock, onWaiting: () => undefined },
      ),
    );

    assert.deepEqual(tries, [0, 20, 22, 26]);
  });

  it('gives up after ten minutes with the last error', async () => {
    const clock = createManualClock();
    const failing = retryHandoff(() => Promise.reject(kubeError('timeout')), { clock, onWaiting: () => undefined });

    const outcome = await passTime(
      clock,
      failing.catch((error: unknown) => error),
    );

    assert.equal((outcome as KubeError).message, 'timeout: could not ask who we are on https://10.0.0.1:6443: timeout');
    assert.ok(clock.monotonic() >= 585_000 && clock.monotonic() <= 600_000, String(clock.monotonic()));
  });

  it.each(['unreachable', 'timeout', 'too-many-requests', 'webhook', 'discovery'] as const)(
    'tries again after %s',
    async (kind) => {
      const clock = createManualClock();
      const waited: string[] = [];
      const errors = [kubeError(kind)];

      await passTime(
        clock,
        retryHandoff(
          async () => {
            const error = errors.shift();
            if (error !== undefined) throw error;
          },
          { clock, onWaiting: (error) => waited.push(error.message) },
        ),
      );

      assert.equal(waited.length, 1);
    },
  );

  it.each(['untrusted-client', 'untrusted-server', 'unauthorized', 'forbidden', 'not-found', 'invalid'] as const)(
    'stops at once after %s',
    async (kind) => {
      const clock = createManualClock();
      const error = kubeError(kind);

      await assert.rejects(
        retryHandoff(() => Promise.reject(error), { clock, onWaiting: () => assert.fail() }),
        error,
      );

      assert.equal(clock.monotonic(), 0);
    },
  );

  it('waits for a machine that reboots, and not for one that refuses us', async () => {
    const clock = createManualClock();
    const talosError = (kind: 'unreachable' | 'untrusted-client') =>
      new TalosError({ kind, machine: 'cp1', call: 'Version', outcome: 'not-done', detail: kind });
    const answers = [talosError('unreachable'), undefined];

    await passTime(
      clock,
      retryHandoff(
        async () => {
          const error = answers.shift();
          if (error !== undefined) throw error;
        },
        { clock, onWaiting: () => undefined },
      ),
    );

    await assert.rejects(
      retryHandoff(() => Promise.reject(talosError('untrusted-client')), { clock, onWaiting: () => assert.fail() }),
      { kind: 'untrusted-client' },
    );
  });

  it('ends its wait when it is interrupted', async () => {
    const clock = createManualClock();
    const leaving = new AbortController();
    const waiting = retryHandoff(() => Promise.reject(kubeError('unreachable')), {
      clock,
      signal: leaving.signal,
      onWaiting: () => undefined,
    });
    await clock.whenSleeping();

    leaving.abort(new Error('left'));

    await assert.rejects(waiting, { message: 'left' });
    assert.equal(clock.sleepers(), 0);
  });
});

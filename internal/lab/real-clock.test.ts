import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { createSystemClock } from '../../pkg/clock/index.ts';
import { createRealClock } from './real-clock.ts';

describe('createRealClock', () => {
  it('lets events happen in their order, and tells of each', async () => {
    const clock = createRealClock(createSystemClock());
    const happened: string[] = [];
    clock.onEvent = () => happened.push('told');

    clock.schedule(20, () => happened.push('second'));
    clock.schedule(1, () => happened.push('first'));
    await clock.sleep(40);

    assert.deepEqual(happened.slice(0, 4), ['first', 'told', 'second', 'told']);
  });

  it('calls an event off', async () => {
    const clock = createRealClock(createSystemClock());
    let happened = false;

    clock.schedule(5, () => {
      happened = true;
    })();
    await clock.sleep(15);

    assert.equal(happened, false);
  });

  it('moves the wall clock alone when it jumps', () => {
    const clock = createRealClock({ now: () => 1_000, monotonic: () => 50, sleep: async () => undefined });

    clock.jump(3_600_000);

    assert.deepEqual([clock.now(), clock.monotonic()], [3_601_000, 0]);
  });

  it('leaves nothing that could still happen when it is stopped', async () => {
    const clock = createRealClock(createSystemClock());
    let happened = 0;
    clock.schedule(5, () => {
      happened += 1;
    });
    const sleeping = clock.sleep(1_000);

    clock.stop();
    clock.schedule(1, () => {
      happened += 1;
    });

    await assert.rejects(sleeping, { message: 'the clock was stopped' });
    await createSystemClock().sleep(15);
    assert.equal(happened, 0);
  });

  it('ends a sleep with the reason of its signal', async () => {
    const clock = createRealClock(createSystemClock());
    const leaving = new AbortController();
    const sleeping = clock.sleep(1_000, leaving.signal);

    leaving.abort(new Error('enough'));

    await assert.rejects(sleeping, { message: 'enough' });
  });
});

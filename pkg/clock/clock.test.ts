import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/builders/manual-clock.ts';
import { createSystemClock } from './index.ts';

describe('the system clock', () => {
  it('sleeps for as long as it was told', async () => {
    const clock = createSystemClock();
    const startMs = clock.monotonic();

    await clock.sleep(30);

    // Timers may fire up to a millisecond early.
    expect(clock.monotonic() - startMs).toBeGreaterThanOrEqual(29);
  });

  it('wakes with the reason of the signal when it is aborted', async () => {
    const stop = new AbortController();

    const sleeping = createSystemClock().sleep(60_000, stop.signal);
    stop.abort(new Error('the operator pressed Ctrl-C'));

    await expect(sleeping).rejects.toThrow('the operator pressed Ctrl-C');
  });

  it('does not start to sleep when the signal was aborted before', async () => {
    await expect(createSystemClock().sleep(60_000, AbortSignal.abort(new Error('too late')))).rejects.toThrow(
      'too late',
    );
  });

  it('does not wake at once from a sleep that is longer than a timer can be', async () => {
    const stop = new AbortController();
    let woke = false;

    const sleeping = createSystemClock()
      .sleep(2 ** 31 + 5, stop.signal)
      .then(() => {
        woke = true;
      });
    await createSystemClock().sleep(20);
    stop.abort(new Error('enough'));

    await expect(sleeping).rejects.toThrow('enough');
    expect(woke).toBe(false);
  });

  it('tells the time of day', () => {
    expect(Math.abs(createSystemClock().now() - Date.now())).toBeLessThan(1_000);
  });
});

describe('the manual clock', () => {
  it('wakes sleepers in the order of their due times and never early', async () => {
    const clock = createManualClock(1_000);
    const woken: string[] = [];
    const note = (name: string, ms: number) => clock.sleep(ms).then(() => woken.push(`${name} at ${clock.now()}`));

    const all = Promise.all([note('late', 50), note('early', 20), note('never', 200)]);
    await clock.advance(19);
    expect(woken).toEqual([]);
    await clock.advance(31);

    expect(woken).toEqual(['early at 1020', 'late at 1050']);
    expect(clock.sleepers()).toBe(1);
    await clock.advance(1_000);
    await all;
  });

  it('lets a loop that sleeps again take all its turns within one advance', async () => {
    const clock = createManualClock(0);
    let turns = 0;
    const loop = (async () => {
      for (; turns < 5; turns += 1) await clock.sleep(10);
    })();

    await clock.advance(50);

    await loop;
    expect(turns).toBe(5);
  });

  it('keeps monotonic time when the wall clock jumps', () => {
    const clock = createManualClock(1_000_000);

    clock.jump(-3_600_000);

    expect([clock.now(), clock.monotonic()]).toEqual([-2_600_000, 0]);
  });

  it('forgets a sleeper whose signal was aborted', async () => {
    const clock = createManualClock();
    const stop = new AbortController();

    const sleeping = clock.sleep(10, stop.signal);
    await clock.whenSleeping();
    stop.abort(new Error('stopped'));

    await expect(sleeping).rejects.toThrow('stopped');
    expect(clock.sleepers()).toBe(0);
  });
});

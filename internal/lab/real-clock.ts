import type { Clock } from '../../pkg/clock/index.ts';
import { sleepOn, type VirtualClock } from '../simulator/index.ts';

/** A clock of a world whose events happen in real time. */
export interface RealClock extends VirtualClock {
  /** Calls off everything that is still to happen, for good. */
  stop(): void;
}

/** What is on its way, and how it is called off. */
interface Due {
  readonly timer: NodeJS.Timeout;
  /** Tells whoever sleeps that nothing will wake him. */
  readonly forsake: (() => void) | undefined;
}

/** A clock over the host's: one timer for each event. Its monotonic time starts at 0, as a world's does. */
export function createRealClock(host: Clock): RealClock {
  const begin = host.monotonic();
  const due = new Set<Due>();
  let offset = 0;
  let stopped = false;

  function add(delayMs: number, act: () => void, forsake?: () => void): () => void {
    if (stopped) {
      forsake?.();
      return () => undefined;
    }
    const timer = setTimeout(
      () => {
        due.delete(entry);
        act();
        clock.onEvent?.();
      },
      Math.max(0, delayMs),
    );
    const entry: Due = { timer, forsake };
    due.add(entry);
    return () => {
      clearTimeout(timer);
      due.delete(entry);
    };
  }

  const clock: RealClock = {
    onEvent: undefined,
    now: () => host.now() + offset,
    monotonic: () => host.monotonic() - begin,
    schedule: (delayMs, act) => add(delayMs, act),
    jump(ms) {
      offset += ms;
    },
    sleep: (ms, signal) =>
      sleepOn(signal, (wake, forsake) => add(ms, wake, () => forsake(new Error('the clock was stopped')))),
    hold: (work) => work,
    run: (promise) => promise,
    stop() {
      stopped = true;
      for (const { timer, forsake } of due) {
        clearTimeout(timer);
        forsake?.();
      }
      due.clear();
    },
  };
  return clock;
}

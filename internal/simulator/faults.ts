import { type CallLog, createCallLog } from './call-log.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** How one mutating call ends (`reliability` 1.0), and where the process that makes it dies. */
export const OUTCOMES = [
  'ok',
  'refused',
  'lost',
  'dropped',
  'late',
  'twice',
  'crash-before',
  'crash-after',
  'crash-late',
  'pause',
  'taken-over',
  'conflict',
] as const;

/**
 * See {@link OUTCOMES}. `pause`: the process is frozen for ten minutes with the call in hand. `taken-over`: another
 * one takes the store's lock while this one lives and its call is under way. `conflict`: somebody else writes first.
 */
export type Outcome = (typeof OUTCOMES)[number];

/** A fault at the call with this number, counted from 0 over all processes. */
export interface Fault {
  readonly at: number;
  readonly outcome: Outcome;
  /** For late and twice: when it lands (again); drawn where it is absent. */
  readonly delayMs?: number;
}

/** One mutating call. */
export interface Call<T> {
  /** `apply cp1`, `reboot cp1`, `patch node`, `store record`. */
  readonly name: string;
  readonly deadlineMs: number;
  /** Does it; throws what the other side answers. */
  readonly perform: () => T;
  /** Whether a call that is still under way may land now: its connection is gone with the boot. */
  readonly canLand: () => boolean;
  /** Certainly not done. */
  readonly refusal: () => Error;
  /** Nobody knows. */
  readonly silence: () => Error;
  /** What somebody else does right before, so that this one conflicts with it. */
  readonly rival?: () => void;
  /** What a process is told that does not hold the lock any more; only writes of the store ask. */
  readonly fenced?: () => Error;
}

/** A process of ours: what it can still do ends with it. */
export interface SimProcess {
  readonly name: string;
  isDead: boolean;
  /** Another process holds the lock of the store now; this one lives and does not know. */
  isSuperseded: boolean;
  /** Resolves when it dies or is superseded: the next one may start. */
  readonly died: Promise<void>;
  die(): void;
  supersede(): void;
}

/** A process that runs. */
export function createProcess(name: string): SimProcess {
  const { promise, resolve } = Promise.withResolvers<void>();
  const process: SimProcess = {
    name,
    isDead: false,
    isSuperseded: false,
    died: promise,
    die() {
      process.isDead = true;
      resolve();
    },
    supersede() {
      process.isSuperseded = true;
      resolve();
    },
  };
  return process;
}

/** Never settles: what a dead process waits for. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** One look of the engine. */
export interface Look {
  readonly at: number;
  readonly process: string;
  readonly kind: 'act' | 'wait' | 'blocked' | 'done';
}

/** Every mutating call of a run, and what the plan does to it. */
export interface FaultPlan {
  /** Names of the calls in their order. */
  readonly calls: readonly string[];
  /** Faults that have happened. */
  readonly fired: readonly Fault[];
  /** Calls that a process made although another one had its lock. */
  readonly trespasses: readonly string[];
  /** Every look of every process, and what it led to. */
  readonly looks: Look[];
  /** What processes asked for and sent, for the checkers. */
  readonly log: CallLog;
  /** Which outcomes a call of this name can have. */
  make<T>(process: SimProcess, call: Call<T>): Promise<T>;
  /** Ends all faults: what follows is the liveness phase. */
  stop(): void;
}

/**
 * An effect of several calls to Kubernetes (evictions, a cordon that conflicts) is
 * not asked between them whether the lock is still there; it is over within the
 * time of one call. Machines get nothing at all any more.
 */
function isTrespass(call: string, sinceMs: number): boolean {
  return /^(ApplyConfiguration|Reboot)/.test(call) || sinceMs > EFFECT_MS;
}

const EFFECT_MS = 30_000;

/** How long a frozen process stays frozen. */
const PAUSE_MS = 600_000;

/** After the deadline, how long the product says that a call may still land: the margin of quiescence. */
const LANDING_MARGIN_MS = 9_000;

/** A plan over a world. `surprise` draws faults for calls that the plan says nothing of. */
export function createFaultPlan(
  world: World,
  faults: readonly Fault[],
  surprise?: { readonly random: Random; readonly probability: number; readonly outcomes: readonly Outcome[] },
): FaultPlan {
  const calls: string[] = [];
  const fired: Fault[] = [];
  const trespasses: string[] = [];
  const supersededAt = new Map<SimProcess, number>();
  const log = createCallLog();
  let stopped = false;

  function next(): Fault | undefined {
    const at = calls.length - 1;
    const planned = faults.find((fault) => fault.at === at);
    if (planned !== undefined) return stopped ? undefined : planned;
    if (surprise === undefined || stopped) return undefined;
    if (!surprise.random.chance(surprise.probability)) return undefined;
    const outcome = surprise.random.pick(surprise.outcomes);
    return outcomesOf(calls[at] ?? '').includes(outcome) ? { at, outcome } : undefined;
  }

  function land<T>(call: Call<T>, fault: Fault, span: readonly [number, number]): void {
    const delay = fault.delayMs ?? world.random(`landing/${fault.at}`).between(...span);
    world.clock.schedule(delay, () => {
      if (!call.canLand()) return;
      world.trace(`lands: ${call.name}`);
      try {
        call.perform();
      } catch {
        // Refused by the other side, which nobody hears.
      }
    });
  }

  async function misfortune<T>(process: SimProcess, call: Call<T>, fault: Fault): Promise<T> {
    const waits = world.random(`silence/${fault.at}`).chance(0.5);
    const silence = async (): Promise<never> => {
      if (waits) await world.clock.sleep(call.deadlineMs);
      if (process.isDead) return never();
      throw call.silence();
    };
    const perform = (): void => {
      try {
        call.perform();
      } catch {
        // The refusal is lost as well.
      }
    };
    const lateSpan = [1_000, call.deadlineMs + LANDING_MARGIN_MS] as const;
    switch (fault.outcome) {
      case 'ok':
        return call.perform();
      case 'refused':
        throw call.refusal();
      case 'lost':
        perform();
        return silence();
      case 'dropped':
        return silence();
      case 'late':
        land(call, fault, lateSpan);
        return silence();
      case 'twice': {
        const result = call.perform();
        land(call, fault, [100, 1_500]);
        return result;
      }
      case 'crash-before':
        process.die();
        return never();
      case 'crash-after':
        perform();
        process.die();
        return never();
      case 'crash-late':
        land(call, fault, lateSpan);
        process.die();
        return never();
      case 'pause':
        // What has no deadline is done after it; everything else has run out of time by then.
        await world.clock.sleep(PAUSE_MS);
        if (call.fenced !== undefined) return call.perform();
        throw call.silence();
      case 'taken-over':
        process.supersede();
        supersededAt.set(process, world.clock.monotonic());
        if (call.fenced !== undefined) throw call.fenced();
        await world.clock.sleep(
          fault.delayMs ?? world.random(`landing/${fault.at}`).between(100, call.deadlineMs - 1_000),
        );
        return call.perform();
      case 'conflict':
        call.rival?.();
        return call.perform();
    }
  }

  return {
    calls,
    fired,
    trespasses,
    looks: [],
    log,
    async make(process, call) {
      if (process.isDead) return never();
      if (process.isSuperseded) {
        if (call.fenced !== undefined) throw call.fenced();
        if (isTrespass(call.name, world.clock.monotonic() - (supersededAt.get(process) ?? 0)))
          trespasses.push(call.name);
      }
      calls.push(call.name);
      const fault = next();
      world.trace(`call ${calls.length - 1} ${call.name}${fault === undefined ? '' : ` ${fault.outcome}`}`);
      if (fault === undefined) return call.perform();
      fired.push(fault);
      return misfortune(process, call, fault);
    },
    stop() {
      stopped = true;
    },
  };
}

/** A local store is not reached over a network: it refuses, the process dies around a write, or it is not the only one. */
export const STORE_OUTCOMES: readonly Outcome[] = [
  'refused',
  'lost',
  'crash-before',
  'crash-after',
  'pause',
  'taken-over',
  'conflict',
];

/** What can go wrong at a call of this name. */
export function outcomesOf(call: string): readonly Outcome[] {
  if (!call.startsWith('store ')) return OUTCOMES.filter((outcome) => outcome !== 'ok' && outcome !== 'conflict');
  // Everything but the operation has one writer.
  return STORE_OUTCOMES.filter((outcome) => outcome !== 'conflict' || call === 'store status');
}

import type { CaTarget, OperationSpec, TalosOperation } from '../../api/v1alpha1/index.ts';
import { type Reconciled, runOperation } from '../controller/index.ts';
import type { Settings } from '../rotation/context.ts';
import { afterwards } from './afterwards.ts';
import { acknowledge, createSimEngine } from './engine.ts';
import { createFaultPlan, createProcess, type Fault, type FaultPlan, type Outcome, type SimProcess } from './faults.ts';
import { type Happening, schedule } from './happenings.ts';
import type { Mint } from './mint.ts';
import { createPerson } from './person.ts';
import { createSimStore, type SimStore } from './store.ts';
import type { Timing } from './timing.ts';
import { createWorld, type World } from './world.ts';

/** One run: everything that it depends on. */
export interface Scenario {
  readonly seed: number;
  readonly controlPlanes: number;
  readonly workers: number;
  readonly targets: readonly CaTarget[];
  readonly talosVersion?: string;
  readonly shape?: 'legacy' | 'typed';
  readonly spec?: Partial<OperationSpec>;
  readonly faults?: readonly Fault[];
  /** Probability of a fault at every call that `faults` does not name. */
  readonly faultRate?: number;
  readonly outcomes?: readonly Outcome[];
  readonly happenings?: readonly Happening[];
  /** What happens once the rotation is done; `at` counts from then. The next operation is begun after it. */
  readonly afterwards?: readonly Happening[];
  readonly settings?: Partial<Settings>;
  readonly timing?: Partial<Timing>;
  /** Ports of every machine that our program cannot reach, as behind a firewall. */
  readonly closedPorts?: readonly number[];
  /** Machines whose kubelets do not register (`skipNodeRegistration`). */
  readonly standalone?: readonly string[];
  /** Where the API servers of the control planes listen, in their order; 6443 where none is given. */
  readonly apiServerPorts?: readonly number[];
  /** How it is to end, where that is not done: refused with a reason, and nothing sent to any machine. */
  readonly expect?: 'blocked';
  /** How long our program stays away after it died; 1.5 s unless given. */
  readonly awayMs?: number;
}

/** A property of the world that was broken, and when. */
export interface Violation {
  readonly property: string;
  readonly at: number;
  readonly message: string;
}

/** What a checker looks at: after every event and every look. */
export interface Moment {
  readonly world: World<Mint>;
  readonly store: SimStore;
  readonly scenario: Scenario;
  /** As it is stored now; undefined when it is gone. */
  readonly operation: TalosOperation | undefined;
  readonly faults: FaultPlan;
}

/** One property. A checker lives for one run and may remember. */
export interface Checker {
  readonly property: string;
  /** What is broken now, or undefined. Called after every event of the world and after every look. */
  check?(moment: Moment): string | undefined;
  /** Called once, when the run is over. */
  end?(moment: Moment): string | undefined;
}

/** How a run ended. */
export interface RunResult {
  /** `broken`: a property was, and the run ended there. */
  readonly end: 'done' | 'gone' | 'blocked' | 'stuck' | 'broken';
  readonly operation: TalosOperation | undefined;
  readonly violations: readonly Violation[];
  /** Names of the mutating calls in their order. */
  readonly calls: readonly string[];
  readonly fired: readonly Fault[];
  readonly looks: number;
  readonly restarts: number;
  /** What a person had to do about a rotation that was blocked; undefined where it got on by itself. */
  readonly helped: string | undefined;
  /** Virtual milliseconds. */
  readonly took: number;
  readonly hash: string;
  readonly world: World<Mint>;
  readonly store: SimStore;
}

/** How a run is made beyond its scenario. */
export interface RunOptions {
  readonly mint: Mint;
  readonly checkers: readonly (() => Checker)[];
  /** Virtual time after which faults stop. */
  readonly safetyMs?: number;
  /** Virtual time that a run may take from then on before it counts as stuck. */
  readonly livenessMs?: number;
  /** Somebody who looks at the world besides: the operation is created when the promise resolves. */
  readonly beside?: (world: World<Mint>, store: SimStore) => Promise<void>;
}

const NAME = 'rotate';
/** A person starts the program again this long after it died. */
const RESTART_MS = 1_500;
const SAFETY_MS = 1_800_000;
const LIVENESS_MS = 3_600_000;
/** Ten times what a long rotation takes: whoever looks more often goes round in circles. */
const MAX_LOOKS = 6_000;
const AFTERMATH_MS = 60_000;
/** Checkers are asked at least this often, whether anything has happened or not. */
const UNASKED_MS = 2_000;
/** Nothing was done for so long after the last disturbance: it does not go on by itself any more. */
const QUIET_MS = 1_500_000;
/** Whoever is awake looks at least twice in that time; a program that is frozen does not stand still, it is not there. */
const FROZEN_MS = 60_000;

/** Runs one rotation to its end, with production's engine, renderers, records and decisions. */
export async function run(scenario: Scenario, options: RunOptions): Promise<RunResult> {
  const world = createWorld({ ...scenario, mint: options.mint });
  const store = createSimStore(world);
  const faults = createFaultPlan(
    world,
    scenario.faults ?? [],
    scenario.faultRate === undefined
      ? undefined
      : { random: world.random('faults'), probability: scenario.faultRate, outcomes: scenario.outcomes ?? [] },
  );
  const watch = createWatch({ world, store, scenario, faults, checkers: options.checkers.map((make) => make()) });
  if (options.beside !== undefined) await world.clock.run(options.beside(world, store));
  store.create(NAME, { ...scenario.spec, caRotation: { targets: [...scenario.targets] } });
  schedule(world, store, NAME, scenario.happenings ?? []);
  let seen = 0;
  world.clock.onEvent = () => {
    // Every change of the world that matters leaves a line.
    if (world.lines.length === seen) return;
    watch.look();
    seen = world.lines.length;
  };
  const limits = { safetyMs: options.safetyMs ?? SAFETY_MS, livenessMs: options.livenessMs ?? LIVENESS_MS };
  world.clock.schedule(limits.safetyMs, () => faults.stop());
  const following = { world, store, scenario, faults, watch, ...limits };
  const story = await follow(following);
  // Somebody starts the program once more on what is done: it has nothing left to do.
  if (story.end === 'done') {
    faults.stop();
    faults.log.callsAtDone = faults.calls.length;
    await world.clock.run(oneProcess(following, createProcess('again'), () => true));
  }
  const endedAt = world.clock.monotonic();
  // Whatever was still under way lands now, on a cluster that nobody looks after any more.
  await world.clock.run(world.clock.sleep(AFTERMATH_MS));
  watch.finish();
  world.clock.onEvent = () => undefined;
  const drift = story.end === 'done' ? await afterwards({ ...following, operation: NAME }) : undefined;
  const operation = store.operations.get(NAME);
  world.trace(`end ${story.end} ${operation?.status.stage ?? 'gone'}`);
  return {
    ...story,
    operation,
    violations: [...watch.violations, ...(drift === undefined ? [] : [drift])],
    calls: faults.calls,
    fired: faults.fired,
    took: endedAt,
    hash: world.hash(),
    world,
    store,
  };
}

interface Watch {
  readonly violations: Violation[];
  look(): void;
  finish(): void;
}

/** Asks every checker; each says its first violation only, the others follow from it. */
function createWatch(input: Omit<Moment, 'operation'> & { readonly checkers: readonly Checker[] }): Watch {
  const { world, store, checkers } = input;
  const violations: Violation[] = [];
  const broken = new Set<string>();
  const always = checkers.filter((checker) => checker.check !== undefined);
  let seen: { readonly lines: number; readonly operation: TalosOperation | undefined; readonly at: number } | undefined;
  /** Most looks change nothing: neither the world nor the operation. What only time breaks is asked for now and then. */
  function isNothingNew(): boolean {
    const now = {
      lines: world.lines.length,
      operation: store.operations.get(NAME),
      at: world.clock.monotonic(),
    };
    const isSame = seen?.lines === now.lines && seen.operation === now.operation && now.at - seen.at < UNASKED_MS;
    if (!isSame) seen = now;
    return isSame;
  }
  function ask(asked: readonly Checker[], question: (checker: Checker, moment: Moment) => string | undefined): void {
    const moment: Moment = { ...input, operation: store.operations.get(NAME) };
    for (const checker of asked) {
      if (broken.has(checker.property)) continue;
      const message = question(checker, moment);
      if (message === undefined) continue;
      broken.add(checker.property);
      violations.push({ property: checker.property, at: world.clock.monotonic(), message });
      world.trace(`BROKEN ${checker.property}`);
    }
  }
  return {
    violations,
    look: () => {
      if (!isNothingNew()) ask(always, (checker, moment) => checker.check?.(moment));
    },
    finish: () => ask(checkers, (checker, moment) => checker.end?.(moment)),
  };
}

function lastHappening({ happenings = [] }: Scenario): number {
  return Math.max(0, ...happenings.map((each) => each.at + ('forMs' in each ? each.forMs : 0)));
}

interface Following {
  readonly world: World<Mint>;
  readonly store: SimStore;
  readonly scenario: Scenario;
  readonly faults: FaultPlan;
  readonly watch: Watch;
  readonly safetyMs: number;
  readonly livenessMs: number;
}

/** Starts the program, and again whenever it dies, until the operation is over or time is. */
async function follow(input: Following): Promise<Pick<RunResult, 'end' | 'looks' | 'restarts' | 'helped'>> {
  const { world, store } = input;
  let looks = 0;
  let restarts = -1;
  let quietMs = 0;
  let lookedAt = 0;
  const person = createPerson(input);
  const endsAt = input.safetyMs + input.livenessMs;
  for (;;) {
    restarts += 1;
    const process = createProcess(`p${restarts}`);
    const ended = await world.clock.run(
      oneProcess(input, process, ({ decision }) => {
        looks += 1;
        input.faults.looks.push({ at: world.clock.monotonic(), process: process.name, kind: decision.kind });
        input.watch.look();
        const now = world.clock.monotonic();
        const isActive = decision.kind === 'act' || lastHappening(input.scenario) > now;
        quietMs = isActive ? 0 : quietMs + Math.min(now - lookedAt, FROZEN_MS);
        lookedAt = now;
        return input.watch.violations.length > 0 || now >= endsAt || quietMs >= QUIET_MS || looks >= MAX_LOOKS;
      }),
    );
    // One that was overtaken lives on and finds out for itself.
    if (!process.isSuperseded) process.die();
    if (input.watch.violations.length > 0) return { end: 'broken', looks, restarts, helped: person.done() };
    if (ended !== 'died') {
      const end = endOf(ended, store);
      if (end !== 'blocked' || !person.help(store.operations.get(NAME))) {
        return { end, looks, restarts, helped: person.done() };
      }
      quietMs = 0;
      continue;
    }
    world.trace(`${process.name} ${process.isSuperseded ? 'overtaken' : 'died'}`);
    if (restarts > 200) return { end: 'stuck', looks, restarts, helped: person.done() };
    await world.clock.run(world.clock.sleep(input.scenario.awayMs ?? RESTART_MS));
    quietMs = 0;
  }
}

function endOf(ended: 'done' | 'gone' | 'stopped', store: SimStore): RunResult['end'] {
  if (ended !== 'stopped') return ended;
  return store.operations.get(NAME)?.status.phase === 'Paused' ? 'blocked' : 'stuck';
}

async function oneProcess(
  { world, store, scenario, faults, safetyMs, livenessMs }: Following,
  process: SimProcess,
  onLook: (reconciled: Reconciled) => boolean,
): Promise<'done' | 'gone' | 'stopped' | 'died'> {
  const { clock } = world;
  const overMs = safetyMs + livenessMs + AFTERMATH_MS - clock.monotonic();
  const engine = createSimEngine({ world, store, faults, process, settings: scenario.settings });
  const tell = createTeller(world);
  const running = runOperation({
    engine,
    clock,
    name: NAME,
    onLook: (reconciled) => {
      tell(reconciled);
      acknowledge(world, store, reconciled.operation);
      return onLook(reconciled);
    },
  });
  // A store that fails ends the program, as it ends the command line.
  const ended = running.then(
    (end) => (end === 'detached' ? 'stopped' : end),
    (error: unknown) => {
      world.trace(`program ended: ${error instanceof Error ? error.name : 'error'}`);
      return 'died' as const;
    },
  );
  // A program that does not look any more would otherwise run for ever.
  const isOver = clock.sleep(overMs).then(() => 'stopped' as const);
  return Promise.race([ended, process.died.then(() => 'died' as const), isOver]);
}

/** Only what is the same everywhere: fingerprints and messages differ from process to process. */
function createTeller(world: World): (reconciled: Reconciled) => void {
  let last = '';
  return ({ decision, operation }) => {
    const effect = decision.kind === 'act' ? ` ${JSON.stringify(decision.effect)}` : '';
    const line = `${operation.status.stage}: ${decision.kind} ${decision.reason}${effect}`;
    if (line !== last) world.trace(line);
    last = line;
  };
}

import {
  CHECKERS,
  createFaultPlan,
  createMint,
  createProcess,
  createSimConnections,
  type Mint,
  type RunOptions,
  type RunResult,
  run,
  type Scenario,
  type SimStore,
  type World,
} from '../../internal/simulator/index.ts';
import { differences } from '../recordings/compare.ts';
import { type Recorder, type RecorderOptions, startRecorder, UnfinishedError } from '../recordings/recorder.ts';
import type { Recording, WatchedRecording } from '../recordings/recording.ts';

/** Virtual time, and looks that take none: often enough to come between any two effects on one machine. */
const TICK_MS = 250;

/** The run in the world that a recording asks for. */
export function scenarioOf({ machines, options, talosVersion, shape }: Recording, seed: number): Scenario {
  const count = (role: string): number => machines.filter((machine) => machine.role === role).length;
  return {
    seed,
    controlPlanes: count('controlplane'),
    workers: count('worker'),
    targets: options.targets,
    talosVersion,
    shape,
    spec: { restartWorkloads: options.restartWorkloads, previousBundle: options.previousBundle },
  };
}

/** How the same rotation in the world differs from a recording, one sentence each; empty where it does not. */
export async function replay(recording: Recording, seed: number, mint?: Mint): Promise<string[]> {
  try {
    // The recording alone is the judge.
    const replayed = await record(scenarioOf(recording, seed), mint ?? (await createMint(2)), []);
    return differences(recording, replayed.recording);
  } catch (error) {
    if (error instanceof UnfinishedError) return [error.message];
    throw error;
  }
}

/**
 * A rotation in the world with production's engine, recorded by the very recorder that watches real machines.
 * Throws `UnfinishedError` where it does not come to its end.
 */
export async function record(
  scenario: Scenario,
  mint: Mint,
  checkers: RunOptions['checkers'] = CHECKERS,
): Promise<{ readonly recording: WatchedRecording; readonly result: RunResult }> {
  let recorder: Recorder | undefined;
  const result = await run(scenario, {
    mint,
    checkers,
    beside: async (world, store) => {
      recorder = await startRecorder(optionsOf(world, store));
      // The first effect comes after the first look, and not at the same moment.
      await world.clock.sleep(TICK_MS);
    },
  });
  if (recorder === undefined) throw new Error('the run began without its recorder');
  using recording = recorder;
  return { recording: await result.world.clock.run(recording.finish()), result };
}

/** A process beside the engine's, without faults, which only reads. */
function optionsOf(world: World<Mint>, store: SimStore): RecorderOptions {
  const { clock, mint } = world;
  const observer = createProcess('observer');
  const faults = createFaultPlan(world, []);
  const files = store.open(observer, faults);
  return {
    cluster: 'simulated',
    clock,
    tickMs: TICK_MS,
    connections: createSimConnections(world, observer, faults),
    issueLeaf: (ca, profile) => mint.issue(ca, profile, clock),
    machines: world.machines().map(({ name, address, role }) => ({ name, address, role })),
    readState: () => files.readState(),
    listOperations: () => files.listOperations(),
    readAudit: async () => store.audit,
  };
}

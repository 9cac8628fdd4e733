import {
  CHECKERS,
  createFaultPlan,
  createProcess,
  createSimConnections,
  type Mint,
  type RunResult,
  run,
  type Scenario,
  type SimStore,
  type World,
} from '../../internal/simulator/index.ts';
import { type Recorder, type RecorderOptions, startRecorder } from '../recordings/recorder.ts';
import type { Recording } from '../recordings/recording.ts';

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

/** A rotation in the world with production's engine, recorded by the very recorder that watches real machines. */
export async function record(
  scenario: Scenario,
  mint: Mint,
): Promise<{ readonly recording: Recording; readonly result: RunResult }> {
  let recorder: Recorder | undefined;
  const result = await run(scenario, {
    mint,
    checkers: CHECKERS,
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

import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import { targetsOf } from '../../internal/rotation/decide.ts';
import { configurationOf, readEnd } from './end.ts';
import { type ObserverOptions, startObserver } from './observer.ts';
import type { Recording, WatchedRecording } from './recording.ts';
import { stepsOf } from './trail.ts';
import { tell } from './windows.ts';

/** What a rotation is recorded through, and what is said of where. */
export interface RecorderOptions extends ObserverOptions {
  readonly cluster: Recording['provenance']['cluster'];
  /** The operations of the cluster as they are stored now. */
  listOperations(): Promise<readonly TalosOperation[]>;
}

/** Records the next rotation of a cluster. */
export interface Recorder extends Disposable {
  /** Takes the last look, at a rotation that is over, and gives the recording. */
  finish(): Promise<WatchedRecording>;
}

/** The rotation did not come to its end: there is nothing to compare with. */
export class UnfinishedError extends Error {
  override readonly name = 'UnfinishedError';
}

/** Begins to record; resolves when the rotation may begin. */
export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const { machines, clock } = options;
  const { bundle: older } = await options.readState();
  const known = new Set((await options.listOperations()).map(({ metadata }) => metadata.uid));
  const observer = await startObserver(options);
  const configs = new Map<string, string>();
  for (const machine of machines) configs.set(machine.name, await configurationOf(observer, machine));
  const [first] = machines;
  if (first === undefined) throw new Error('there is no machine to record');
  const talosVersion = await observer.session.talos(first, async (client) => (await client.version()).tag.slice(1));
  return {
    async finish() {
      await observer.end();
      const operation = (await options.listOperations()).find(({ metadata }) => !known.has(metadata.uid));
      if (operation === undefined) throw new Error('no operation was begun while it was recorded');
      const { spec, status, metadata } = operation;
      if (status.stage !== 'Done') {
        const where = `${status.stage} (${status.reason}: ${status.message})`;
        throw new UnfinishedError(`the rotation ended in ${where}; expected Done`);
      }
      const { bundle: newer } = await options.readState();
      const steps = stepsOf(await options.readAudit(), metadata.name);
      const told = tell(steps, observer.sights);
      return {
        provenance: { cluster: options.cluster, date: new Date(clock.now()).toISOString().slice(0, 10) },
        talosVersion,
        shape: /^kind: KubeAPIServerCAConfig$/m.test(configs.get(first.name) ?? '') ? 'typed' : 'legacy',
        machines: machines.map(({ name, role }) => ({ name, role })),
        options: {
          targets: targetsOf({ operation, store: NOTHING }),
          restartWorkloads: spec.restartWorkloads,
          previousBundle: spec.previousBundle,
        },
        ...told,
        end: await readEnd({
          observer,
          machines,
          stage: status.stage,
          older,
          newer,
          configs,
          talosVersion,
          now: () => clock.now(),
        }),
      };
    },
    [Symbol.dispose]: () => observer.close(),
  };
}

/** The targets of the operation itself; the record is gone by then. */
const NOTHING = { material: undefined, bundleReplaced: false, problems: [], otherOperations: [] };

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createConnections } from '../../internal/controller/index.ts';
import { openEmbeddedStore } from '../../internal/store/index.ts';
import { createSystemClock } from '../../pkg/clock/index.ts';
import { issueLeaf } from '../../pkg/pki/index.ts';
import type { WatchedMachine } from './observer.ts';
import { startRecorder } from './recorder.ts';
import { type Recording, writeRecording } from './recording.ts';

/** Names a folder; every rotation of a real cluster that a suite, `rotate:real` or the benchmark observes is recorded there. */
const FOLDER = 'ICHOR_RECORDINGS';

/** Often enough to see a machine between two effects on it; each look is some thirty small calls. */
const TICK_MS = 1_000;

/** A recorder of the rotation that `ichor` does beside a directory. */
export interface DirectoryRecorder extends Disposable {
  /** Writes the recording, and says where, or why there is none. */
  finish(): Promise<string>;
}

/** What is recorded. */
export interface DirectoryRotation {
  /** As an operator has it: secrets.yaml, talosconfig, and what `ichor` puts there. */
  readonly directory: string;
  readonly machines: readonly WatchedMachine[];
  readonly cluster: Recording['provenance']['cluster'];
}

/** Records the next rotation by the files of a directory, over real sockets. */
export async function recordDirectory(rotation: DirectoryRotation): ReturnType<typeof startRecorder> {
  const store = await openEmbeddedStore({ directory: rotation.directory });
  return startRecorder({
    clock: createSystemClock(),
    connections: createConnections(),
    issueLeaf,
    tickMs: TICK_MS,
    machines: rotation.machines.map(({ name, address, role }) => ({ name, address, role })),
    cluster: rotation.cluster,
    readState: () => store.readState(),
    readAudit: async () => (await store.readAudit()).entries,
    listOperations: () => store.listOperations(),
  });
}

/**
 * Records if the environment names a folder for it; else `undefined`. A recording
 * that fails is told and nothing else: what is recorded is a test or a measurement
 * of its own.
 */
export async function recordIfAsked(rotation: DirectoryRotation): Promise<DirectoryRecorder | undefined> {
  const folder = process.env[FOLDER];
  if (folder === undefined || folder === '') return undefined;
  const recorder = await recordDirectory(rotation);
  return {
    async finish() {
      try {
        const recording = await recorder.finish();
        await mkdir(folder, { recursive: true });
        const path = join(folder, `${nameOf(recording)}.json`);
        await writeFile(path, writeRecording(recording));
        return `recorded in ${path}`;
      } catch (error) {
        return `not recorded: ${error instanceof Error ? error.message : String(error)}`;
      }
    },
    [Symbol.dispose]: () => recorder[Symbol.dispose](),
  };
}

/** For example `3+1-all-typed-1.14.1`. */
function nameOf({ machines, options, shape, talosVersion }: Recording): string {
  const planes = machines.filter(({ role }) => role === 'controlplane').length;
  const targets = options.targets.length === 4 ? 'all' : options.targets.join('-');
  return [`${planes}+${machines.length - planes}`, targets, shape, talosVersion].join('-');
}

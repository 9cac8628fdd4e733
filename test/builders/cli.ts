import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CliEnvironment } from '../../internal/cli/environment.ts';
import { runCli } from '../../internal/cli/run-cli.ts';
import type { Connections } from '../../internal/controller/index.ts';
import { openEmbeddedStore } from '../../internal/store/index.ts';
import { createSilentLogger } from '../../internal/telemetry/index.ts';
import { bundleFixture } from './bundle.ts';
import { createManualClock } from './manual-clock.ts';

/** A folder that is there for one test. */
export interface TestFolder extends Disposable {
  readonly path: string;
}

/** An empty folder; gone at the end of the block. */
export function aFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), 'ichor-cli-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A cluster directory with the bundle of the tests and no talosconfig. */
export function aClusterFolder(): TestFolder {
  const folder = aFolder();
  writeFileSync(join(folder.path, 'secrets.yaml'), bundleFixture('secrets-v1.14.txt'), { mode: 0o600 });
  return folder;
}

/** What a test says of the environment of a command. */
export interface CliOptions {
  readonly connections?: Partial<Connections> | undefined;
  /** Answers to yes-or-no questions in their order, or what somebody does before answering; without them there is no terminal to ask at. */
  readonly answers?: readonly (boolean | (() => Promise<boolean>))[];
  readonly isTerminal?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly directory?: string;
  readonly home?: string;
  /** Milliseconds since the epoch. */
  readonly now?: number;
  readonly interrupted?: AbortSignal;
  /** How `--log` opens its file; nothing is written without it. */
  readonly openLog?: CliEnvironment['openLog'];
}

/** What a command printed, and how it ended. */
export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly questions: readonly string[];
}

/** An environment that keeps what is printed; nothing is connected to unless the test says how. */
export function aCliEnvironment(options: CliOptions = {}) {
  const printed = { stdout: '', stderr: '' };
  const questions: string[] = [];
  const answers = [...(options.answers ?? [])];
  const sink = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      printed[name] += text;
    },
    isTerminal: options.isTerminal ?? false,
    columns: 100,
  });
  const nowhere = (): never => {
    throw new Error('the test opened a connection that it did not expect');
  };
  const clock = createManualClock(options.now);
  const environment: CliEnvironment = {
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    ask:
      options.answers === undefined
        ? undefined
        : {
            confirm: async (question) => {
              questions.push(question);
              const answer = answers.shift() ?? false;
              return typeof answer === 'function' ? answer() : answer;
            },
            secret: async () => '',
          },
    env: options.env ?? {},
    workingDirectory: options.directory ?? '/nowhere',
    homeDirectory: options.home ?? '/nowhere',
    clock,
    interrupted: options.interrupted ?? new AbortController().signal,
    program: [process.execPath, join(import.meta.dirname, '../../cmd/ichor/main.ts')],
    version: '1.2.3',
    openStore: openEmbeddedStore,
    connections: async () => ({
      talos: nowhere,
      kube: nowhere,
      probeTls: nowhere,
      probeHttps: nowhere,
      ...options.connections,
    }),
    openLog: options.openLog ?? (async () => createSilentLogger()),
  };
  return { environment, printed, questions, clock };
}

/** Runs one command line in this process. */
export async function runInProcess(argv: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const { environment, printed, questions } = aCliEnvironment(options);
  const code = await runCli(argv, environment);
  return { code, ...printed, questions };
}

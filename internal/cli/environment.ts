import type { Clock } from '../../pkg/clock/index.ts';
import type { Connections } from '../controller/index.ts';
import type { EmbeddedStore, EmbeddedStoreOptions } from '../store/index.ts';
import type { Logger } from '../telemetry/index.ts';

/** Where text goes. */
export interface TextSink {
  write(text: string): void;
  /** Whether a person looks at it on a terminal that understands cursor movements. */
  readonly isTerminal: boolean;
  /** Width of the terminal; 80 where there is none. */
  readonly columns: number;
  /** Height of the terminal; absent where there is none. */
  readonly rows?: number | undefined;
}

/** Asks the person at the terminal; `undefined` answers are impossible: no terminal, no `Ask`. */
export interface Ask {
  /** Yes or no; anything but a clear yes is no. */
  confirm(question: string): Promise<boolean>;
  /** Text that is not shown while it is typed. */
  secret(question: string): Promise<string>;
}

/**
 * Everything that the commands reach the world through. Real streams and sockets
 * in the product; whatever a test wants in a test.
 */
export interface CliEnvironment {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly ask: Ask | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workingDirectory: string;
  readonly homeDirectory: string;
  readonly clock: Clock;
  /** Aborts when the person wants to leave (Ctrl-C). */
  readonly interrupted: AbortSignal;
  /** How this program is started again, without its arguments. */
  readonly program: readonly string[];
  /** Version of ichor. */
  readonly version: string;
  openStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore>;
  connections(): Promise<Connections>;
  /** A logger that appends to this file; the library for it is loaded only now. */
  openLog(file: string): Promise<Logger>;
}

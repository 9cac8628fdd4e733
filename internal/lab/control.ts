import { relative } from 'node:path';
import { labFolder } from './lab-directory.ts';
import type { LabErrorKind } from './lab-error.ts';
import type { LogLine } from './logs.ts';

/** What a lab can be asked over its control socket; one JSON document on one line. */
export type ControlRequest =
  | { readonly do: 'status' }
  | { readonly do: 'down' }
  | { readonly do: 'reboot'; readonly machine: string }
  | { readonly do: 'break'; readonly fault: string; readonly machine?: string }
  | { readonly do: 'mend'; readonly fault?: string; readonly machine?: string }
  | { readonly do: 'logs'; readonly machine?: string; readonly follow?: boolean };

/** What it answers, one JSON document on a line; `logs` answers with many lines, the others with one. */
export type ControlReply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: true; readonly line: LogLine }
  | { readonly ok: false; readonly error: ControlError };

/** An error as it travels. */
export interface ControlError {
  readonly kind: LabErrorKind;
  readonly message: string;
  readonly advice: string | undefined;
}

/** Longest path of a socket, in bytes: 104 with its end on macOS, 108 on Linux. */
export const LONGEST_SOCKET_PATH = 103;

/** Where the control socket of a lab is; relative to the working directory where that is shorter. */
export function controlPath(directory: string): string {
  const whole = `${labFolder(directory)}/control.sock`;
  const short = relative(process.cwd(), whole);
  return Buffer.byteLength(short) < Buffer.byteLength(whole) ? short : whole;
}

import { CliError } from './cli-error.ts';
import type { CliEnvironment } from './environment.ts';
import type { ExitName } from './exit-codes.ts';
import type { Output } from './output.ts';

/** One option, in the notation of commander: `-o, --output <format>`. */
export interface OptionSpec {
  readonly flags: string;
  readonly summary: string;
  /** The values that are allowed, for checking and for completion. */
  readonly choices?: readonly string[];
  /** The words that a list separated by commas may hold, for completion. */
  readonly listOf?: readonly string[];
  readonly default?: string;
  /** Whether it is a list: separated by commas, or the option again for each. Any other option is given once. */
  readonly isList?: true;
  /** What a shell completes after it. */
  readonly completes?: 'file' | 'directory';
}

/** One argument. */
export interface ArgumentSpec {
  readonly name: string;
  readonly summary: string;
  readonly choices?: readonly string[];
  /** The words that it may be, for completion alone: whoever reads the argument says what is wrong with others. */
  readonly words?: readonly string[];
  /** What a shell completes for it. */
  readonly completes?: 'directory';
}

/** The values of the options of one call. */
export type OptionValues = Readonly<Record<string, unknown>>;

/** One call of a command. */
export interface Invocation {
  readonly argument: string | undefined;
  readonly secondArgument?: string | undefined;
  readonly options: OptionValues;
  readonly environment: CliEnvironment;
  readonly output: Output;
}

/**
 * One command as data. Only `run` does something, and it imports what it needs:
 * the help of every command is there without loading any of them.
 */
export interface Command {
  /** `['cluster', 'rotate-ca']`, or `['version']`. */
  readonly path: readonly string[];
  readonly summary: string;
  /** Printed below the options. */
  readonly details?: string;
  /** `[NAME]` or `<NAME>`, with what it is. */
  readonly argument?: ArgumentSpec;
  /** A second one, after it. */
  readonly secondArgument?: ArgumentSpec;
  readonly options: readonly OptionSpec[];
  run(invocation: Invocation): Promise<ExitName>;
}

/** The option that says where the cluster is; the same everywhere. */
export const DIRECTORY_OPTION: OptionSpec = {
  flags: '--dir <directory>',
  summary: 'the cluster directory, which holds secrets.yaml and talosconfig (default: this directory, or ./NAME)',
  completes: 'directory',
};

/** The option that takes the lock from a process of which nobody here can tell whether it lives. */
export const TAKE_OVER_OPTION: OptionSpec = {
  flags: '--take-over',
  summary: 'take the directory over from a process of which nobody here can tell whether it lives, as on another host',
};

/** Options that open an encrypted secrets.yaml. */
export const BUNDLE_OPTIONS: readonly OptionSpec[] = [
  {
    flags: '--identity <file>',
    summary:
      'age identity that opens an encrypted secrets.yaml; a passphrase is asked for, or read from ICHOR_PASSPHRASE',
    completes: 'file',
  },
];

/** The option that names who can open what is encrypted, for commands that run a rotation. */
export const RECIPIENT_OPTION: OptionSpec = {
  flags: '--recipient <keys>',
  summary: 'age public keys of everybody for whom secrets.yaml is encrypted, where --identity is not all of them',
  isList: true,
};

/** The option that says what becomes of endpoints that nobody here can try at the end. */
export const UNREACHABLE_OPTION: OptionSpec = {
  flags: '--unreachable-endpoints <choice>',
  summary: 'at the end, hold for endpoints that this host cannot reach to try old credentials, or report them',
  choices: ['hold', 'report'],
};

/** The option that names the program which moves storage away around a reboot; `docs/reference/cli.md` has its contract. */
export const EVACUATION_HOOK_OPTION: OptionSpec = {
  flags: '--evacuation-hook <program>',
  summary:
    'asked around each reboot, to move storage away and let it back: PROGRAM evacuate NODE, PROGRAM readmit NODE; 0 is done, 75 ask again',
  completes: 'file',
};

/** The option for the format of the result; the same everywhere. */
export const OUTPUT_OPTION: OptionSpec = {
  flags: '-o, --output <format>',
  summary: 'how to print the result',
  choices: ['text', 'json', 'yaml'],
  default: 'text',
};

/** Whether a flag was given. */
export function flag(options: OptionValues, name: string): boolean {
  return options[name] === true;
}

/** The text of an option, or nothing. */
export function text(options: OptionValues, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A comma-separated list, or nothing where the option was not given. Errors: `usage` where it is given and names nothing. */
export function list(options: OptionValues, name: string): string[] | undefined {
  const value = text(options, name);
  if (value === undefined) return undefined;
  const words = value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  if (words.length === 0) throw new CliError('usage', `--${name} names nothing`);
  return words;
}

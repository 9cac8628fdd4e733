import type { CliEnvironment, TextSink } from './environment.ts';

/** How a result is printed. */
export type OutputFormat = 'text' | 'json' | 'yaml';

/**
 * Where a command prints. With `-o json` or `-o yaml`, standard output holds
 * exactly one document and everything for people goes to standard error.
 */
export interface Output {
  readonly format: OutputFormat;
  /** Where text for people goes. */
  readonly people: TextSink;
  /** Whether colours may be used there. */
  readonly color: boolean;
  /** One line for people. */
  say(line: string): void;
  /** The result: `text` for people, or `value` as a document. Called once. */
  result(value: unknown, text: string): Promise<void>;
}

/** Prints to the streams of the environment. */
export function createOutput(
  environment: Pick<CliEnvironment, 'stdout' | 'stderr' | 'env'>,
  format: OutputFormat,
): Output {
  const { stdout, stderr, env } = environment;
  const people = format === 'text' ? stdout : stderr;
  return {
    format,
    people,
    color: mayColor(people, env),
    say: (line) => people.write(`${line}\n`),
    async result(value, text) {
      if (format === 'text') {
        if (text !== '') stdout.write(text.endsWith('\n') ? text : `${text}\n`);
        return;
      }
      if (format === 'json') {
        stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
        return;
      }
      const { stringify } = await import('./yaml.ts');
      // Through JSON, so that both formats say the same: what a value hides from JSON is hidden here too.
      stdout.write(stringify(JSON.parse(JSON.stringify(value)), { lineWidth: 0 }));
    },
  };
}

/** NO_COLOR (no-color.org) and TERM=dumb turn colours off; so does anything that is no terminal. */
export function mayColor(sink: TextSink, env: Readonly<Record<string, string | undefined>>): boolean {
  return sink.isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}

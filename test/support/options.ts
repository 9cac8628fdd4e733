import { type ParseArgsConfig, parseArgs } from 'node:util';

/**
 * Reads the command line of a program of this repository. `--help` prints the
 * usage and ends the process with 0; what cannot be read is told in one line above
 * the usage, and ends it with 2.
 */
export function readOptions<const T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.includes('--help')) {
    process.stdout.write(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    process.stderr.write(`${error.message}\n\n${usage}`);
    process.exit(2);
  }
}

/** A number of machines, from a word of the command line. Throws a sentence that names the option. */
export function countOption(name: string, text: string, [least, most]: readonly [number, number]): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= least && count <= most) return count;
  throw new Error(`--${name} is ${JSON.stringify(text)}; expected a number from ${least} to ${most}`);
}

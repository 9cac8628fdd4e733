import { resolve } from 'node:path';
import { CliError } from '../../cli-error.ts';
import { type Invocation, text } from '../../command.ts';

/**
 * The directory of the lab that a command is about: the argument where it names one, `--dir`, or this directory.
 * Errors: `usage` where both are given and differ, as one of them would count for nothing.
 */
export function labDirectory(
  { options, environment }: Pick<Invocation, 'options' | 'environment'>,
  argument?: string,
): string {
  const under = (path: string): string => resolve(environment.workingDirectory, path);
  const given = text(options, 'dir');
  const directory = under(argument ?? given ?? '.');
  if (given === undefined || under(given) === directory) return directory;
  throw new CliError('usage', `two labs are named: ${directory} and --dir ${under(given)}`, 'Name one of them.');
}

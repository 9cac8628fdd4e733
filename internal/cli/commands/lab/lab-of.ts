import { resolve } from 'node:path';
import { type Invocation, text } from '../../command.ts';

/** The directory of the lab that a command is about: the argument where it names one, `--dir`, or this directory. */
export function labDirectory(
  { options, environment }: Pick<Invocation, 'options' | 'environment'>,
  argument?: string,
): string {
  return resolve(environment.workingDirectory, argument ?? text(options, 'dir') ?? '.');
}

import { resolve } from 'node:path';
import { type Rehearsal, readRehearsal } from '../../../lab/index.ts';
import { CliError } from '../../cli-error.ts';
import { flag, type Invocation, text } from '../../command.ts';
import { credentialsOf } from '../../open-cluster.ts';

/** What `--from` asks for; nothing without it. Errors: `usage` where an option is given that counts with `--from` alone. */
export async function rehearsalOf(invocation: Invocation): Promise<Rehearsal | undefined> {
  const { options, environment } = invocation;
  const from = text(options, 'from');
  if (from === undefined) {
    if (flag(options, 'replaceKeys'))
      throw new CliError('usage', '--replace-keys needs --from: a new lab has new keys');
    if (text(options, 'identity') !== undefined)
      throw new CliError(
        'usage',
        '--identity needs --from: the secrets of a new lab are not encrypted',
        'Give --from PATH, or leave --identity out. Nothing was done.',
      );
    return undefined;
  }
  return readRehearsal({
    from: resolve(environment.workingDirectory, from),
    replaceKeys: flag(options, 'replaceKeys'),
    credentials: await credentialsOf(invocation),
  });
}

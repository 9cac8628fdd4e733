import { resolve } from 'node:path';
import { type Rehearsal, readRehearsal } from '../../../lab/index.ts';
import { CliError } from '../../cli-error.ts';
import { flag, type Invocation, text } from '../../command.ts';
import { credentialsOf } from '../../open-cluster.ts';

/** What `--from` asks for; nothing without it. */
export async function rehearsalOf(invocation: Invocation): Promise<Rehearsal | undefined> {
  const { options, environment } = invocation;
  const from = text(options, 'from');
  if (from === undefined) {
    if (flag(options, 'replaceKeys'))
      throw new CliError('usage', '--replace-keys needs --from: a new lab has new keys');
    return undefined;
  }
  return readRehearsal({
    from: resolve(environment.workingDirectory, from),
    replaceKeys: flag(options, 'replaceKeys'),
    credentials: await credentialsOf(invocation),
  });
}

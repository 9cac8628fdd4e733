import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { AgeCredentials } from '../../../../pkg/bundle/index.ts';
import { Secret } from '../../../../pkg/pki/index.ts';
import { type Rehearsal, readRehearsal } from '../../../lab/index.ts';
import { CliError } from '../../cli-error.ts';
import { flag, type Invocation, text } from '../../command.ts';

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

async function credentialsOf({ options, environment }: Invocation): Promise<AgeCredentials> {
  const file = text(options, 'identity');
  const passphrase = environment.env.ICHOR_PASSPHRASE;
  return {
    ...(file === undefined
      ? {}
      : { identity: Secret.of('age-identity', await readFile(resolve(environment.workingDirectory, file), 'utf8')) }),
    ...(passphrase === undefined || passphrase === '' ? {} : { passphrase: Secret.of('passphrase', passphrase) }),
  };
}

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type AgeCredentials, BundleError } from '../../pkg/bundle/index.ts';
import { Secret } from '../../pkg/pki/index.ts';
import { createProcesses, type EmbeddedStore, type LockOwner, StoreError } from '../store/index.ts';
import { CliError } from './cli-error.ts';
import { flag, type Invocation, list, text } from './command.ts';
import type { CliEnvironment } from './environment.ts';

/** A cluster directory that was opened for one command. */
export interface OpenCluster extends AsyncDisposable {
  readonly directory: string;
  readonly store: EmbeddedStore;
}

/** How a cluster directory is opened. */
export interface OpenOptions {
  /** What the lock is taken for, as others will read it; absent: no lock is taken. */
  readonly purpose?: string;
  /** Whether the bundle will be needed: a passphrase is asked for where it is encrypted. */
  readonly bundle: boolean;
}

/**
 * Where the cluster is: `--dir`; else the working directory when it holds a
 * secrets.yaml; else the directory of the cluster's name below it.
 */
export function directoryOf({
  argument,
  options,
  environment,
}: Pick<Invocation, 'argument' | 'options' | 'environment'>): string {
  const { workingDirectory } = environment;
  const given = text(options, 'dir');
  if (given !== undefined) return resolve(workingDirectory, given);
  if (existsSync(join(workingDirectory, 'secrets.yaml')) || argument === undefined) return workingDirectory;
  const named = resolve(workingDirectory, argument);
  return existsSync(join(named, 'secrets.yaml')) ? named : workingDirectory;
}

/** Opens the cluster directory of a command and, with `purpose`, takes its lock; disposing of it gives the lock back. */
export async function openCluster(invocation: Invocation, { purpose, bundle }: OpenOptions): Promise<OpenCluster> {
  const { environment, output } = invocation;
  const directory = directoryOf(invocation);
  let credentials = await credentialsOf(invocation);
  const first = await environment.openStore({ directory, credentials, clock: environment.clock });
  for (const repair of first.repairs) output.people.write(`note: ${repair}\n`);
  let store = first;
  if (bundle) {
    const asked = await passphraseFor(() => first.readBundle(), environment);
    if (asked !== undefined) {
      credentials = { ...credentials, passphrase: asked };
      store = await environment.openStore({ directory, credentials, clock: environment.clock });
      await store.readBundle();
    }
  }
  if (purpose !== undefined) await lockCluster(store, invocation, purpose);
  const opened = store;
  return { directory, store: opened, [Symbol.asyncDispose]: () => giveBack(opened, output) };
}

/** A lock that cannot be given back (the disk is full) is no reason to end in another way: it ends with this process. */
async function giveBack(store: EmbeddedStore, { people }: Invocation['output']): Promise<void> {
  try {
    await store.releaseLock();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    people.write(`note: ${error.message}. The next process here takes the lock over by itself\n`);
  }
}

/** Takes the lock of a cluster directory. Errors: `locked`, with what to do about it. */
export async function lockCluster(store: EmbeddedStore, { options }: Invocation, purpose: string): Promise<void> {
  try {
    await store.acquireLock({ purpose, takeOver: flag(options, 'takeOver') });
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'locked') throw error;
    throw new CliError(
      'locked',
      error.message,
      'An owner of which nobody here can tell whether it lives is taken over with --take-over.',
      error,
    );
  }
}

/** Who works on a cluster directory now; a process that is certainly dead does not. */
export async function holderOf(store: EmbeddedStore): Promise<LockOwner | undefined> {
  const owner = await store.lockOwner();
  return owner !== undefined && createProcesses().liveness(owner) === 'dead' ? undefined : owner;
}

/** What the command line and the environment give to open a bundle. Errors: `directory` where the identity cannot be read. */
export async function credentialsOf({ options, environment }: Invocation): Promise<AgeCredentials> {
  const file = text(options, 'identity');
  const passphrase = environment.env.ICHOR_PASSPHRASE;
  const recipients = list(options, 'recipient');
  return {
    ...(recipients === undefined ? {} : { recipients }),
    ...(file === undefined ? {} : { identity: await readIdentity(resolve(environment.workingDirectory, file)) }),
    ...(passphrase === undefined || passphrase === '' ? {} : { passphrase: Secret.of('passphrase', passphrase) }),
  };
}

async function readIdentity(path: string): Promise<Secret<'age-identity'>> {
  try {
    return Secret.of('age-identity', await readFile(path, 'utf8'));
  } catch (cause) {
    throw new CliError('directory', `the age identity ${path} cannot be read`, 'Check --identity.', cause);
  }
}

/** Asks for the passphrase where the bundle is encrypted, nothing opens it yet, and somebody is there to ask. */
export async function passphraseFor(
  read: () => Promise<unknown>,
  { ask }: CliEnvironment,
): Promise<Secret<'passphrase'> | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (!(error instanceof BundleError) || error.kind !== 'passphrase' || ask === undefined) throw error;
    return Secret.of('passphrase', await ask.secret(`${error.path} is encrypted. Passphrase:`));
  }
}

import { BundleError } from '../../../pkg/bundle/index.ts';
import type { EmbeddedStore } from '../../store/index.ts';
import { CliError } from '../cli-error.ts';
import { list, type OptionValues } from '../command.ts';

/**
 * What is written beside a bundle is closed as the bundle is. Where that is for nobody's public key, `--recipient` would
 * count for nothing, and keys would lie plain, or behind a passphrase, that somebody believes to be encrypted for these
 * people. Errors: `usage`.
 */
export async function checkRecipients(options: OptionValues, store: Pick<EmbeddedStore, 'readBundle'>): Promise<void> {
  if (list(options, 'recipient') === undefined) return;
  const { path, encrypted, byPassphrase } = await store.readBundle();
  if (encrypted && !byPassphrase) return;
  const how = encrypted ? 'encrypted with a passphrase' : 'plain';
  throw new CliError(
    'usage',
    `${path} is ${how}, and what is written beside it stays so; --recipient names everybody for whom one is that is encrypted for age public keys`,
    'Leave --recipient out. To have it encrypted for these people, while no rotation is under way: ichor cluster bundle-export --recipient age1…,age1… --to FILE, and put FILE in its place. Nothing was changed.',
  );
}

/**
 * Whether what a rotation is going to write can be encrypted for the people for whom secrets.yaml is: found before
 * anything is stored, because a rotation that cannot store its keys gets nowhere. Errors: `refused`.
 */
export async function checkSealing(store: Pick<EmbeddedStore, 'readBundle'>): Promise<void> {
  const document = await store.readBundle();
  if (!document.encrypted || document.byPassphrase) return;
  try {
    await document.seal(Buffer.from('ichor'), 'rotation.yaml');
  } catch (error) {
    // A recipient that is none is a mistake on the command line, and said as one.
    if (!(error instanceof BundleError) || error.kind === 'recipient') throw error;
    throw new CliError(
      'refused',
      `what a rotation writes could not be encrypted as secrets.yaml is: ${error.message}`,
      'Name everybody for whom secrets.yaml is encrypted, yourself as well: --recipient age1…,age1…. Nothing was changed.',
      error,
    );
  }
}

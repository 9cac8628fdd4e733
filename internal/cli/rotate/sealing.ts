import { BundleError } from '../../../pkg/bundle/index.ts';
import type { EmbeddedStore } from '../../store/index.ts';
import { CliError } from '../cli-error.ts';

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

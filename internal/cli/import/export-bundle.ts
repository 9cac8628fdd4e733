import { join, resolve } from 'node:path';
import { type BundleDocument, CA_TARGETS, caOf, createEnvelope, exportFingerprint } from '../../../pkg/bundle/index.ts';
import { CliError } from '../cli-error.ts';
import { flag, type Invocation, list, text } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { isPlainFileThere, writePrivateFile } from '../handoff/private-file.ts';
import { openCluster } from '../open-cluster.ts';

/** `ichor cluster bundle-export`: a copy of the bundle as it is, or encrypted for other people. */
export async function exportBundle(invocation: Invocation): Promise<ExitName> {
  const { options, environment, output } = invocation;
  const to = text(options, 'to');
  if (to === undefined) throw new CliError('usage', '--to names no file; keys are never printed');
  const path = resolve(environment.workingDirectory, to);
  await using cluster = await openCluster(invocation, { bundle: true });
  if (path === join(cluster.directory, 'secrets.yaml')) {
    throw new CliError('refused', `${path} is the bundle itself`, 'Name another file. Nothing was changed.');
  }
  if ((await isPlainFileThere(path)) && !flag(options, 'force')) {
    throw new CliError(
      'refused',
      `${path} is there already`,
      'Name another file, or give --force. Nothing was changed.',
    );
  }
  const document = await cluster.store.readBundle();
  const recipients = list(options, 'recipient');
  const bytes = recipients === undefined ? await document.write() : await encryptFor(document, recipients, path);
  await writePrivateFile(path, bytes);
  const isEncrypted = document.encrypted || recipients !== undefined;
  const fingerprint = exportFingerprint(document.bundle);
  const certificates = CA_TARGETS.map((name) => ({
    name,
    fingerprint: caOf(document.bundle, name).certificate.fingerprint,
  }));
  await output.result(
    { path, encrypted: isEncrypted, fingerprint, certificates },
    [
      `${path}: the bundle${isEncrypted ? ', encrypted' : ', NOT encrypted: it holds every key of the cluster'}`,
      `fingerprint ${fingerprint}`,
      ...certificates.map((each) => `  ${each.name}: ${each.fingerprint}`),
    ].join('\n'),
  );
  return 'ok';
}

async function encryptFor(document: BundleDocument, recipients: readonly string[], path: string): Promise<Uint8Array> {
  const written = await document.write();
  const plain = document.encrypted ? await document.unseal(written, document.path) : written;
  return createEnvelope({ recipients }, { armored: true }).seal(plain, path);
}

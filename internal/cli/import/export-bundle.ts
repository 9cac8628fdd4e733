import { basename, join, resolve } from 'node:path';
import { type BundleDocument, CA_TARGETS, caOf, createEnvelope, exportFingerprint } from '../../../pkg/bundle/index.ts';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import { CliError } from '../cli-error.ts';
import { checkClusterName } from '../cluster-name.ts';
import { flag, type Invocation, list, text } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { isPlainFileThere, writePrivateFile } from '../handoff/private-file.ts';
import { type OpenCluster, openCluster } from '../open-cluster.ts';
import { refuseOwnFile } from '../own-files.ts';

/** `ichor cluster bundle-export`: a copy of the bundle as it is, or encrypted for other people. */
export async function exportBundle(invocation: Invocation): Promise<ExitName> {
  const { argument, options, environment, output } = invocation;
  const to = text(options, 'to');
  if (to === undefined) throw new CliError('usage', '--to names no file; keys are never printed');
  const path = resolve(environment.workingDirectory, to);
  await using cluster = await openCluster(invocation, { bundle: true });
  if (argument !== undefined) await checkName(argument, cluster);
  await refuseOwnFile(path, cluster.directory);
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

/**
 * Nobody is asked over the network here, so a directory has the name of its folder, or of the context that its
 * talosconfig selects. Without it, whoever stands in the directory of one cluster and names another would get the wrong keys.
 */
async function checkName(name: string, { directory, store }: OpenCluster): Promise<void> {
  const talosconfig = await store.readCredential('talosconfig');
  const folder = { name: basename(directory), by: `its folder ${directory}` };
  // The folder is enough: a talosconfig that cannot be read does not stand in the way of a copy.
  if (folder.name === name || talosconfig === undefined) return checkClusterName(name, [folder]);
  const { context } = parseTalosconfig(talosconfig, join(directory, 'talosconfig'));
  checkClusterName(name, [folder, { name: context, by: 'its talosconfig' }]);
}

/** The bytes of a bundle, encrypted for these age public keys and for nobody else; `path` is named in errors. */
export async function encryptFor(
  document: BundleDocument,
  recipients: readonly string[],
  path: string,
): Promise<Uint8Array> {
  const written = await document.write();
  const plain = document.encrypted ? await document.unseal(written, document.path) : written;
  return createEnvelope({ recipients }, { armored: true }).seal(plain, path);
}

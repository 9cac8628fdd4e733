import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  type BundleDocument,
  BundleError,
  type BundleParts,
  bundleFromParts,
  bundlePartsOf,
  CA_TARGETS,
  caOf,
  exportFingerprint,
  isAgeEncrypted,
  openBundle,
} from '../../../pkg/bundle/index.ts';
import { type MachineConfigView, readMachineConfig } from '../../../pkg/machineconfig/index.ts';
import { issueLeaf, talosAdminProfile } from '../../../pkg/pki/index.ts';
import {
  addressOfEndpoint,
  isTalosError,
  readTalosconfigFile,
  selectContext,
  type TalosContext,
  writeTalosconfig,
} from '../../../pkg/talos/index.ts';
import type { Connections } from '../../controller/index.ts';
import { CliError } from '../cli-error.ts';
import { checkClusterName } from '../cluster-name.ts';
import { flag, type Invocation, list, text } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { readPrivateFile, writePrivateFile } from '../handoff/private-file.ts';
import { credentialsOf, passphraseFor } from '../open-cluster.ts';
import { encryptFor } from './export-bundle.ts';

/** `ichor cluster import` */
export async function importCluster(invocation: Invocation): Promise<ExitName> {
  const { argument, options, environment, output } = invocation;
  checkOptions(options);
  const under = (path: string): string => resolve(environment.workingDirectory, path);
  const named = text(options, 'dir') ?? argument;
  if (named === undefined) {
    // Keys of a cluster are not strewn into whatever directory somebody stands in.
    throw new CliError(
      'usage',
      'no directory is named',
      'Give --dir DIRECTORY, or a NAME for one below this directory.',
    );
  }
  const directory = under(named);
  const target = join(directory, 'secrets.yaml');
  const talosconfigPath = under(text(options, 'talosconfig') ?? join(environment.homeDirectory, '.talos', 'config'));
  if ((await readPrivateFile(target)) !== undefined) throw isThere(target);
  const config = await readTalosconfigFile(talosconfigPath);
  const context = selectContext(config, talosconfigPath, text(options, 'context'));
  const talosconfig = {
    path: join(directory, 'talosconfig'),
    text: writeTalosconfig({ context: context.name, contexts: { [context.name]: context } }),
  };
  // One that lies in its place already stays, with whatever other contexts it has.
  const isInPlace = talosconfig.path === talosconfigPath && config.context === context.name;
  const held = await readPrivateFile(talosconfig.path);
  if (held !== undefined && held !== talosconfig.text && !isInPlace) throw isThere(talosconfig.path);
  const connections = await environment.connections();
  const secrets = text(options, 'secrets');
  const from = { invocation, connections, context };
  const document = await (secrets === undefined ? fromControlPlane(from) : fromFile(under(secrets), from));
  const recipients = list(options, 'recipient');
  // Before anything is written: a recipient may be none.
  const bytes = recipients === undefined ? await document.write() : await encryptFor(document, recipients, target);
  const isEncrypted = document.encrypted || recipients !== undefined;
  if (!isInPlace) await writePrivateFile(talosconfig.path, talosconfig.text);
  await writePrivateFile(target, bytes);
  const fingerprints = CA_TARGETS.map((each) => ({
    name: each,
    fingerprint: caOf(document.bundle, each).certificate.fingerprint,
  }));
  await output.result(
    {
      directory,
      encrypted: isEncrypted,
      fingerprint: exportFingerprint(document.bundle),
      certificates: fingerprints,
    },
    [
      `${directory} holds the bundle and the talosconfig of this cluster now`,
      ...fingerprints.map(({ name, fingerprint }) => `  ${name}: ${fingerprint}`),
      isEncrypted ? '' : `${target} is NOT encrypted: it holds every key of the cluster`,
      secrets === undefined ? 'It was read from a control plane: keep a copy where you keep your backups.' : '',
    ]
      .filter((line) => line !== '')
      .join('\n'),
  );
  return 'ok';
}

/** An option that would count for nothing is a mistake: most of all one that is there to keep keys from being plain. */
function checkOptions(options: Invocation['options']): void {
  if (text(options, 'secrets') !== undefined) return;
  if (flag(options, 'offline')) {
    throw new CliError(
      'usage',
      '--offline needs --secrets: without it, the bundle is read from a control plane',
      'Give --secrets FILE, or leave --offline out.',
    );
  }
  if (text(options, 'identity') !== undefined) {
    throw new CliError(
      'usage',
      '--identity needs --secrets: what is read from a control plane is not encrypted',
      'Give --secrets FILE, or leave --identity out; --recipient encrypts what is written.',
    );
  }
}

function isThere(path: string): CliError {
  return new CliError('refused', `${path} is there already`, 'Choose another --dir. Nothing was changed.');
}

type Context = ReturnType<typeof selectContext>;

/** Makes the bundle from the configuration of the first endpoint that gives it; that needs the role os:admin. */
async function fromControlPlane({ invocation, connections, context }: From): Promise<BundleDocument> {
  const { config, machine } = await readConfiguration(connections, context);
  const parts = partsOf(config, machine);
  const view = viewOf(config, machine);
  checkName(invocation, view, machine);
  warnOfOthers(invocation, view, machine);
  return bundleFromParts(parts, { path: 'secrets.yaml' });
}

function viewOf(config: string, machine: string): MachineConfigView {
  return readMachineConfig(config, `the configuration of ${machine}`);
}

/**
 * What a control plane accepts besides what it issues with: in the middle of a rotation the CA of before or the next
 * one; or one of somebody else that stays for good. Nothing tells the two apart, so this is no reason to refuse.
 */
function warnOfOthers({ output }: Invocation, view: MachineConfigView, machine: string): void {
  for (const target of ['talos', 'kubernetes', 'aggregator'] as const) {
    const { accepted = [], issuing } = view[target] ?? {};
    for (const { fingerprint } of accepted.filter((each) => each.fingerprint !== issuing?.fingerprint)) {
      output.say(
        `note: ${machine} accepts the certificate authority ${fingerprint.slice(0, 16)} besides the one it issues with (${target}); where a rotation is under way, this bundle is out of date when it ends: import it again then`,
      );
    }
  }
}

/** The NAME on the command line is that of the cluster, also where it names the folder. */
function checkName({ argument }: Invocation, { clusterName: name = 'cluster' }: MachineConfigView, by: string): void {
  const advice =
    'Check --talosconfig and --context. A folder of another name is given with --dir. Nothing was changed.';
  checkClusterName(argument, [{ name, by }], advice);
}

/** What a machine's configuration holds; what is wrong with it is not the fault of the directory. */
function partsOf(config: string, machine: string): BundleParts {
  try {
    return bundlePartsOf(config, `the configuration of ${machine}`);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    const advice =
      error.field === 'machine.type'
        ? 'Name a control plane as the endpoint of the talosconfig.'
        : 'Finish the rotation first where one is under way; else import from secrets.yaml (--secrets).';
    throw new CliError('refused', error.message, `${advice} Nothing was written.`, error);
  }
}

async function openDocument(bytes: Uint8Array, path: string, invocation: Invocation): Promise<BundleDocument> {
  const credentials = await credentialsOf(invocation);
  const asked = await passphraseFor(() => openBundle(bytes, { path, ...credentials }), invocation.environment);
  return openBundle(bytes, { path, ...credentials, ...(asked === undefined ? {} : { passphrase: asked }) });
}

/** What a bundle is made from, or compared with. */
interface From {
  readonly invocation: Invocation;
  readonly connections: Connections;
  readonly context: Context;
}

/** Opens the bundle and compares it with a control plane: the wrong file is found now and not in a rotation. */
async function fromFile(path: string, { invocation, connections, context }: From): Promise<BundleDocument> {
  const { options, environment } = invocation;
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new CliError('directory', `${path} cannot be read`, 'Check --secrets.', cause);
  });
  if (list(options, 'recipient') !== undefined && isAgeEncrypted(bytes, path)) {
    throw new CliError(
      'usage',
      `${path} is encrypted already; --recipient encrypts a bundle that is plain`,
      'Leave --recipient out: it stays encrypted for the same people. For others: age -d FILE | age -r RECIPIENT…, and import that. Nothing was written.',
    );
  }
  const document = await openDocument(bytes, path, invocation);
  if (flag(options, 'offline')) return document;
  // Our own certificate, from the bundle: a talosconfig that has expired does not stand in the way.
  const credentials = await issueLeaf(document.bundle.talos, talosAdminProfile({ now: environment.clock.now() }));
  const identity = { ...context, trust: [document.bundle.talos.certificate], credentials };
  const { config, machine } = await readConfiguration(connections, identity).catch((error: unknown) => {
    if (!isTalosError(error, 'untrusted-server', 'untrusted-client')) throw error;
    throw new CliError(
      'refused',
      `${path} is not the bundle of the cluster in this talosconfig: ${error.message}`,
      'Find the secrets.yaml of this cluster. Nothing was written.',
      error,
    );
  });
  const live = partsOf(config, machine);
  const view = viewOf(config, machine);
  checkName(invocation, view, machine);
  const different = CA_TARGETS.filter(
    (target) => caOf(live, target).certificate.fingerprint !== caOf(document.bundle, target).certificate.fingerprint,
  );
  const [first] = different;
  if (first !== undefined) {
    throw new CliError(
      'refused',
      `${path} is not the bundle of this cluster: ${machine} runs with the ${first} CA ${caOf(live, first).certificate.fingerprint}, the file holds ${caOf(document.bundle, first).certificate.fingerprint}`,
      'Find the current secrets.yaml, or leave --secrets out to read it from a control plane. Nothing was written.',
    );
  }
  warnOfOthers(invocation, view, machine);
  return document;
}

async function readConfiguration(
  connections: Connections,
  context: Pick<TalosContext, 'endpoints' | 'trust'> & Pick<Context, 'credentials'>,
): Promise<{ readonly config: string; readonly machine: string }> {
  let last: unknown = new CliError(
    'directory',
    'the talosconfig names no endpoint',
    'talosctl config endpoint ADDRESS…',
  );
  for (const address of context.endpoints.map(addressOfEndpoint)) {
    const client = connections.talos({
      name: address,
      address,
      trust: context.trust,
      credentials: context.credentials,
    });
    try {
      return { config: (await client.configuration('active')).config.expose(), machine: address };
    } catch (error) {
      last = error;
    } finally {
      client.close();
    }
  }
  throw last;
}

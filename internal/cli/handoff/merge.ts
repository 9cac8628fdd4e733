import { realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { parseCertificates, Secret } from '../../../pkg/pki/index.ts';
import { parseTalosconfig, type Talosconfig, writeTalosconfig } from '../../../pkg/talos/index.ts';
import { CliError } from '../cli-error.ts';
import { addKubeconfig, type KubeconfigText } from './kubeconfig-text.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';
import { firstSuffix } from './suffix.ts';

/** The cluster's credentials as text. */
export interface MergeSource {
  readonly talosconfig: string;
  readonly kubeconfig: string;
}

/** One file that was written, with the context that is selected in it. */
export interface MergedFile {
  readonly path: string;
  readonly context: string;
  /** What was selected before, where that was another one. */
  readonly before: string | undefined;
}

/**
 * Puts the credentials of a cluster into the files that talosctl and kubectl use
 * by themselves, `~/.talos/config` and `~/.kube/config`, and selects them there, as
 * those two do. Entries of other clusters stay. What has the same name is replaced
 * when it belongs to this cluster, which is told by a CA that the cluster has or
 * had; otherwise ours gets a suffix, as `talosctl config merge` does. Both files are
 * read before the first one is written. A link is followed.
 *
 * @param knownCas fingerprints of the CAs that this cluster has or had
 */
export async function mergeIntoHome(
  home: string,
  source: MergeSource,
  knownCas: readonly string[],
): Promise<MergedFile[]> {
  if (!isAbsolute(home)) {
    throw new CliError('directory', 'the home directory is not known; nothing was merged', 'Set HOME to its path.');
  }
  const talos = await mergeTalos(await targetOf(join(home, '.talos', 'config')), source.talosconfig, knownCas);
  const kube = await mergeKube(await targetOf(join(home, '.kube', 'config')), source.kubeconfig, knownCas);
  const merged = [talos, kube];
  for (const { file, text } of merged) await writePrivateFile(file.path, text);
  return merged.map(({ file }) => file);
}

interface Merged {
  readonly file: MergedFile;
  readonly text: string;
}

/** Where a file really is: people keep these two behind links. */
async function targetOf(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

async function mergeTalos(path: string, added: string, knownCas: readonly string[]): Promise<Merged> {
  const ours = parseTalosconfig(added, 'the new talosconfig');
  const selected = ours.contexts[ours.context];
  if (selected === undefined)
    throw new CliError('directory', 'the talosconfig to merge selects no context that it has');
  const held = await readPrivateFile(path);
  const into: Talosconfig = held === undefined ? { context: '', contexts: {} } : parseTalosconfig(held, path);
  const suffix = firstSuffix((candidate) => {
    const taken = into.contexts[`${ours.context}${candidate}`];
    return taken === undefined || taken.trust.some(({ fingerprint }) => knownCas.includes(fingerprint));
  });
  const context = `${ours.context}${suffix}`;
  const contexts = { ...into.contexts, [context]: selected };
  return { file: fileOf(path, context, into.context), text: writeTalosconfig({ context, contexts }) };
}

async function mergeKube(path: string, added: string, knownCas: readonly string[]): Promise<Merged> {
  const held = await readPrivateFile(path);
  const { text, context, before } = await addKubeconfig(kubeconfig(held), Secret.of('kubeconfig', added), {
    where: path,
    isOurs: (authority) => isKnown(authority, knownCas),
  });
  return { file: fileOf(path, context, before), text: text.expose() };
}

function kubeconfig(text: string | undefined): KubeconfigText | undefined {
  return text === undefined ? undefined : Secret.of('kubeconfig', text);
}

/** Whether one of these certificates is known; text that holds none is somebody else's. */
function isKnown(pem: string, knownCas: readonly string[]): boolean {
  try {
    return parseCertificates(pem, 'a kubeconfig').some(({ fingerprint }) => knownCas.includes(fingerprint));
  } catch {
    return false;
  }
}

function fileOf(path: string, context: string, before: string): MergedFile {
  return { path, context, before: before === '' || before === context ? undefined : before };
}

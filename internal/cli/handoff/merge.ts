import { join } from 'node:path';
import { Secret } from '../../../pkg/pki/index.ts';
import {
  mergeTalosconfig,
  parseTalosconfig,
  type TalosContext,
  type Talosconfig,
  writeTalosconfig,
} from '../../../pkg/talos/index.ts';
import { kubeconfigWith } from './credential-files.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

/** The cluster's credentials as text. */
export interface MergeSource {
  readonly talosconfig: string;
  readonly kubeconfig: string;
}

/**
 * Puts the credentials of a cluster into the files that talosctl and kubectl use
 * by themselves, `~/.talos/config` and `~/.kube/config`. Other clusters in them
 * stay. A context of the same name is replaced when it belongs to this cluster
 * (it trusts one of the same CAs); one of another cluster keeps its name, and
 * ours gets a suffix, as `talosctl config merge` does. kubeconfig entries are
 * replaced by name.
 *
 * @returns the files that were written
 */
export async function mergeIntoHome(home: string, source: MergeSource, knownCas: readonly string[]): Promise<string[]> {
  const talosPath = join(home, '.talos', 'config');
  const kubePath = join(home, '.kube', 'config');
  const ours = parseTalosconfig(source.talosconfig, 'the new talosconfig');
  const context = ours.contexts[ours.context];
  if (context !== undefined) {
    const held = await readPrivateFile(talosPath);
    const into = held === undefined ? EMPTY : parseTalosconfig(held, talosPath);
    await writePrivateFile(talosPath, writeTalosconfig(mergeContext(into, ours.context, context, knownCas)));
  }
  const heldKube = await readPrivateFile(kubePath);
  await writePrivateFile(
    kubePath,
    await kubeconfigWith(heldKube, kubePath, Secret.of('kubeconfig', source.kubeconfig)),
  );
  return [talosPath, kubePath];
}

const EMPTY: Talosconfig = { context: '', contexts: {} };

function mergeContext(
  into: Talosconfig,
  name: string,
  context: TalosContext,
  knownCas: readonly string[],
): Talosconfig {
  const held = into.contexts[name];
  const isOurs = held?.trust.some((ca) => knownCas.includes(ca.fingerprint)) === true;
  if (isOurs) return { context: name, contexts: { ...into.contexts, [name]: context } };
  return mergeTalosconfig(into, { context: name, contexts: { [name]: context } });
}

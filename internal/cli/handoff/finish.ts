import type { SecretsBundle } from '../../../pkg/bundle/index.ts';
import { fromKubeconfig } from '../../../pkg/kube/index.ts';
import { type Certificate, verifyChain } from '../../../pkg/pki/index.ts';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import type { EmbeddedStore } from '../../store/index.ts';
import type { ClusterView } from '../cluster-view.ts';
import { type CredentialFiles, type CredentialTexts, credentialFiles, kubeconfigWith } from './credential-files.ts';
import { refreshTalosconfig, whyRenewKubeconfig } from './refresh.ts';
import { type RetryOptions, retryHandoff } from './retry.ts';

/** What bringing the credentials of a directory up to date needs. */
export interface FinishOptions extends RetryOptions {
  readonly store: EmbeddedStore;
  readonly view: ClusterView;
  /** Whether a kubeconfig is written where there is none. */
  readonly makeKubeconfig: boolean;
}

/**
 * Brings the credentials of a cluster directory in line with its bundle, outside
 * of a rotation: leftovers of a hand-off go, both files trust the bundle's CAs
 * alone, and what is near its end is renewed. Run at the end of every rotation,
 * and again wherever that was interrupted.
 *
 * @returns what was done, one line each
 */
export async function finishCredentials(options: FinishOptions): Promise<string[]> {
  const { store, view, clock } = options;
  const { bundle } = await store.readState();
  const files = credentialFiles(store.directory);
  const now = clock.now();
  const held = await files.read();
  const said: string[] = [];
  const fallback = held.talosconfig === undefined ? await fallbackFor(view, options) : undefined;
  const talos = await refreshTalosconfig({ files, bundle, now, ...(fallback === undefined ? {} : { fallback }) });
  if (talos.said !== undefined) said.push(talos.said);
  const kubeconfig = await refreshKubeconfig(options, { files, bundle, now });
  if (kubeconfig !== undefined) said.push(kubeconfig);
  await files.settle();
  return said;
}

async function fallbackFor(view: ClusterView, options: RetryOptions): Promise<{ name: string; endpoints: string[] }> {
  const planes = await retryHandoff(() => view.controlPlanes(), options);
  return { name: await view.clusterName(), endpoints: planes.map(({ address }) => address) };
}

interface Held {
  readonly files: CredentialFiles;
  readonly bundle: SecretsBundle;
  readonly now: number;
}

async function refreshKubeconfig(options: FinishOptions, { files, bundle, now }: Held): Promise<string | undefined> {
  const { kubeconfig } = await files.read();
  if (kubeconfig === undefined && !options.makeKubeconfig) return undefined;
  const why = await whyRenewKubeconfig(kubeconfig, bundle, now);
  if (why === undefined) return undefined;
  const issued = await retryHandoff(
    async () => options.view.issueKubeconfig(await options.view.controlPlanes()),
    options,
  );
  const path = files.path('kubeconfig');
  await files.write({ kubeconfig: await kubeconfigWith(kubeconfig, path, issued) });
  return `${path} was issued anew by a control plane (${why})`;
}

/**
 * What an operation that ended elsewhere left: after an abandoned rotation the
 * credentials of before come back, after a completed one the new ones stay.
 *
 * @returns what was done, in words, or nothing
 */
export async function settleLeftovers(store: EmbeddedStore, now: number): Promise<string | undefined> {
  const files = credentialFiles(store.directory);
  const { bundle, record } = await store.readState();
  // The rotation is still under way, and may still be abandoned.
  if (record !== undefined) return undefined;
  const old = await files.readOld();
  if (old.talosconfig === undefined && old.kubeconfig === undefined) {
    // What was offered and never taken.
    await files.settle();
    return undefined;
  }
  const current = await files.read();
  if (!(await areOf(bundle, current, now)) && (await areOf(bundle, old, now))) {
    await files.restore();
    return 'the credentials from before the abandoned rotation are in use again';
  }
  await files.settle();
  return 'the credentials from before the rotation were removed';
}

/** Whether both certificates, as far as they are there, were issued by the CAs of this bundle. */
async function areOf(bundle: SecretsBundle, texts: CredentialTexts, now: number): Promise<boolean> {
  const talos = texts.talosconfig === undefined ? undefined : parseTalosconfig(texts.talosconfig, 'talosconfig');
  const leaf = talos?.contexts[talos.context]?.credentials?.certificate;
  if (leaf !== undefined && !isBy(leaf, bundle.talos.certificate, now)) return false;
  if (texts.kubeconfig === undefined) return true;
  const { credentials } = await fromKubeconfig(texts.kubeconfig, { where: 'kubeconfig' });
  return credentials.kind !== 'certificate' || isBy(credentials.certificate, bundle.kubernetes.certificate, now);
}

/** Whether this CA signed it; whether it is expired is another question. */
function isBy(leaf: Certificate, ca: Certificate, now: number): boolean {
  const at = Math.min(Math.max(now, leaf.notBefore), leaf.notAfter);
  return verifyChain(leaf, [ca], { now: at, usage: 'client' }).ok;
}

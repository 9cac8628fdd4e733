import { HANDOFF_ANNOTATION, handoffToken, type TalosOperation } from '../../../api/v1alpha1/index.ts';
import type { Clock } from '../../../pkg/clock/index.ts';
import { parseTalosconfig, type TalosContext } from '../../../pkg/talos/index.ts';
import type { Connections, ListedMachine } from '../../controller/index.ts';
import { type EmbeddedStore, StaleOperationError } from '../../store/index.ts';
import { CliError } from '../cli-error.ts';
import type { ClusterView } from '../cluster-view.ts';
import { type CredentialFiles, credentialFiles, kubeconfigWith, talosconfigWith } from './credential-files.ts';
import { type AdminCredentials, makeCredentials } from './credentials.ts';
import { retryHandoff } from './retry.ts';
import { verifyCredentials } from './verify.ts';

/** What a hand-off needs. */
export interface HandoffOptions {
  readonly store: EmbeddedStore;
  readonly view: ClusterView;
  readonly connections: Connections;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Prints one line for people. */
  readonly say: (line: string) => void;
}

/** New credentials that were written beside the old ones and seen to work. */
export interface Offer {
  readonly credentials: AdminCredentials;
  readonly contextName: string;
  readonly files: CredentialFiles;
  /** What they were tried against, one line each. */
  readonly tried: readonly string[];
}

/**
 * Makes the new talosconfig and kubeconfig, tries them over new connections, and
 * writes them beside the old ones. Errors that can pass by themselves are waited
 * for, up to ten minutes for each call; that is said once.
 */
export async function offerCredentials(options: HandoffOptions): Promise<Offer> {
  const { store, view, clock, signal } = options;
  let isSaid = false;
  const onWaiting = (error: Error): void => {
    if (isSaid) return;
    isSaid = true;
    options.say(`waiting for the Kubernetes API: ${error.message}`);
  };
  const retry = { clock, signal, onWaiting };
  const planes = await retryHandoff(() => view.controlPlanes(), retry);
  const issuedKubeconfig = await retryHandoff(() => view.issueKubeconfig(planes), retry);
  const files = credentialFiles(store.directory);
  const held = await files.read();
  const { name, context } = contextOf(held.talosconfig, files.path('talosconfig'), await view.clusterName(), planes);
  const credentials = await makeCredentials({
    state: await store.readState(),
    now: clock.now(),
    context,
    issuedKubeconfig,
  });
  const tried = await verifyCredentials(credentials, {
    ...retry,
    connections: options.connections,
    controlPlanes: planes,
  });
  await files.offer({
    talosconfig: talosconfigWith(held.talosconfig, files.path('talosconfig'), name, credentials.talos),
    kubeconfig: await kubeconfigWith(held.kubeconfig, files.path('kubeconfig'), credentials.kubeconfig),
  });
  return { credentials, contextName: name, files, tried };
}

/** The context to write: the selected one of the file, or a new one with the control planes as endpoints. */
function contextOf(
  text: string | undefined,
  where: string,
  clusterName: string,
  planes: readonly ListedMachine[],
): { name: string; context: Pick<TalosContext, 'endpoints' | 'nodes' | 'rest'> } {
  const held = text === undefined ? undefined : parseTalosconfig(text, where);
  const selected = held?.contexts[held.context];
  if (held !== undefined && selected !== undefined) return { name: held.context, context: selected };
  return { name: clusterName, context: { endpoints: planes.map(({ address }) => address), nodes: [], rest: {} } };
}

/**
 * Takes what was offered into use and tells the operation so, with the token of
 * its new certificate authorities. The files come first: whoever finds the
 * operation acknowledged finds the credentials in place.
 */
export async function acknowledge(store: EmbeddedStore, files: CredentialFiles, name: string): Promise<TalosOperation> {
  await files.take();
  for (;;) {
    const operation = await store.readOperation(name);
    if (operation === undefined) throw new CliError('not-found', `the operation ${name} is not there any more`);
    if (operation.status.stage !== 'AwaitingCredentials') {
      throw new CliError(
        'refused',
        `the operation ${name} is in stage ${operation.status.stage}; only AwaitingCredentials waits for credentials`,
      );
    }
    try {
      return await store.updateOperation(operation, {
        annotations: { [HANDOFF_ANNOTATION]: handoffToken(operation.status.caRotation) },
      });
    } catch (error) {
      // The engine wrote in between; its stage is looked at again.
      if (!(error instanceof StaleOperationError)) throw error;
    }
  }
}

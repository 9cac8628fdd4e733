import { openEmbeddedStore } from '../../internal/store/index.ts';
import { UnfinishedError } from './recorder.ts';
import type { Recording } from './recording.ts';
import { stepsOf } from './trail.ts';

/** What a directory does not tell of its cluster. */
export interface OfTheCluster extends Pick<Recording, 'talosVersion' | 'shape'> {
  readonly cluster: Recording['provenance']['cluster'];
}

/**
 * The recording of the last rotation beside a directory, whenever that was and whether anybody watched: the order of its
 * effects, out of the audit trail, and what it was a rotation of, out of the operation.
 *
 * @throws {UnfinishedError} where the last operation did not come to its end, or there is none
 */
export async function recordingFromTrail(directory: string, known: OfTheCluster): Promise<Recording> {
  const store = await openEmbeddedStore({ directory });
  const operations = await store.listOperations();
  const operation = operations.reduce<(typeof operations)[number] | undefined>(
    (last, each) =>
      last !== undefined && last.metadata.creationTimestamp > each.metadata.creationTimestamp ? last : each,
    undefined,
  );
  if (operation === undefined) throw new UnfinishedError(`no operation was ever begun in ${directory}`);
  const { metadata, spec, status } = operation;
  if (status.stage !== 'Done') {
    throw new UnfinishedError(`${metadata.name} in ${directory} stands in ${status.stage}; expected Done`);
  }
  const { entries } = await store.readAudit();
  return {
    provenance: { cluster: known.cluster, date: metadata.creationTimestamp.slice(0, 10) },
    talosVersion: known.talosVersion,
    shape: known.shape,
    // Whoever was told of the last stage; only control planes have an API server.
    machines: status.caRotation.applied
      .map(({ machine, apiServerInstance }) => ({
        name: machine,
        role: apiServerInstance === undefined ? ('worker' as const) : ('controlplane' as const),
      }))
      .sort((a, b) => (a.role === b.role ? (a.name < b.name ? -1 : 1) : a.role === 'controlplane' ? -1 : 1)),
    options: {
      targets: status.caRotation.targets,
      restartWorkloads: spec.restartWorkloads,
      previousBundle: spec.previousBundle,
    },
    steps: stepsOf(entries, metadata.name).map(({ begunAt: _, ...step }) => step),
  };
}

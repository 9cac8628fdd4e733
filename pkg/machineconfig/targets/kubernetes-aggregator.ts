import type { Access } from '../access.ts';
import { type CaHome, readCaHome } from '../ca-home.ts';
import type { CaChange, RenderRequest } from '../model.ts';
import { addDocument } from '../new-document.ts';
import { clusterOf, roleOf } from '../role.ts';
import { legacyShape } from '../shapes/legacy.ts';
import { typedShape } from '../shapes/typed.ts';
import { knowsTypedDocuments } from '../version.ts';
import type { Edit } from '../yaml/edits.ts';
import { documentOf } from '../yaml/parse.ts';
import { caTarget, needsNewerTalos, singleCertificate } from './ca.ts';

/**
 * The CA of the aggregator (front proxy): `KubeAggregatorCAConfig`, or the old
 * `cluster.aggregatorCA`, which has no accepted list. On 1.14 an old field moves
 * to the document while two CAs are accepted; before 1.14 it cannot be rotated.
 */
export const kubernetesAggregator = caTarget({ homeOf: aggregatorHome, renderWithoutList });

/** Where the aggregator CA lives; undefined on workers. */
export function aggregatorHome(access: Access): CaHome | undefined {
  return access.once('kubernetes-aggregator', () => readHome(access));
}

function readHome(access: Access): CaHome | undefined {
  if (roleOf(access) === 'worker') return undefined;
  const document = documentOf(access.config, 'KubeAggregatorCAConfig');
  if (document !== undefined) {
    return readCaHome(access, {
      shape: typedShape,
      map: document.map,
      path: 'KubeAggregatorCAConfig',
      issuingKey: 'issuingCA',
      acceptedKey: 'acceptedCAs',
    });
  }
  const cluster = clusterOf(access);
  if (cluster === undefined) {
    return { shape: 'legacy', path: 'cluster.aggregatorCA', issuing: undefined, accepted: undefined };
  }
  return readCaHome(access, {
    shape: legacyShape,
    map: cluster,
    path: 'cluster',
    issuingKey: 'aggregatorCA',
    acceptedKey: undefined,
  });
}

function renderWithoutList(access: Access, change: CaChange, request: RenderRequest): Edit[] {
  const field = 'cluster.aggregatorCA';
  if (!knowsTypedDocuments(request.version)) {
    throw needsNewerTalos(access, request, field, 'the aggregator CA has no list of accepted CAs before Talos 1.14');
  }
  const issuing = aggregatorHome(access)?.issuing;
  const cluster = clusterOf(access);
  if (issuing === undefined || cluster === undefined) return [];
  if (request.stage === 'Dropping') {
    const isNew = singleCertificate(issuing)?.fingerprint === change.new.certificate.fingerprint;
    return isNew ? issuing.terminate() : issuing.set(change.new.certificate.pem, change.new.key);
  }
  const [signer, accepted] = request.stage === 'Accepting' ? [change.old, change.new] : [change.new, change.old];
  return [
    ...access.changes.removeField(cluster, 'aggregatorCA'),
    addDocument(access, 'KubeAggregatorCAConfig', {
      issuingCA: { cert: signer.certificate.pem, key: signer.key.expose() },
      acceptedCAs: [accepted.certificate.pem],
    }),
  ];
}

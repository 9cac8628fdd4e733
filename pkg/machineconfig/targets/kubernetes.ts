import type { Access } from '../access.ts';
import { type CaHome, readCaHome } from '../ca-home.ts';
import { clusterOf } from '../role.ts';
import { legacyShape } from '../shapes/legacy.ts';
import { typedShape } from '../shapes/typed.ts';
import { documentOf } from '../yaml/parse.ts';
import { caTarget } from './ca.ts';

/** The CA of the Kubernetes API: `KubeAPIServerCAConfig` where there is one, else `cluster.ca` and `cluster.acceptedCAs`. */
export const kubernetes = caTarget({ homeOf: kubernetesHome });

/** Where the Kubernetes CA lives. The document has priority over the old fields, as in Talos's own accessors. */
export function kubernetesHome(access: Access): CaHome {
  return access.once('kubernetes', () => readHome(access));
}

function readHome(access: Access): CaHome {
  const document = documentOf(access.config, 'KubeAPIServerCAConfig');
  if (document !== undefined) {
    return readCaHome(access, {
      shape: typedShape,
      map: document.map,
      path: 'KubeAPIServerCAConfig',
      issuingKey: 'issuingCA',
      acceptedKey: 'acceptedCAs',
    });
  }
  const cluster = clusterOf(access);
  if (cluster === undefined) {
    return { shape: 'legacy', path: 'cluster.ca', issuing: undefined, accepted: undefined };
  }
  return readCaHome(access, {
    shape: legacyShape,
    map: cluster,
    path: 'cluster',
    issuingKey: 'ca',
    acceptedKey: 'acceptedCAs',
  });
}

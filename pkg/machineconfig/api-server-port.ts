import type { Scalar } from 'yaml';
import type { Access } from './access.ts';
import { MachineConfigError } from './error.ts';
import { clusterOf } from './role.ts';
import { documentOf } from './yaml/parse.ts';
import { placeAt } from './yaml/source.ts';

/** Port of kube-apiserver unless configured (talos `constants.DefaultControlPlanePort`). */
const USUAL_PORT = 6443;

const DOCUMENT = 'KubeAPIServerConfig';

/**
 * The port that kube-apiserver listens on, on a control plane with this configuration.
 * A `KubeAPIServerConfig` document replaces the old fields as a whole: its `apiPort`,
 * and 6443 where it has none. Without one it is `cluster.controlPlane.localAPIServerPort`,
 * where 0 counts as not set (talos `config/container/container.go`,
 * `config/types/k8s/apiserver.go`, `config/types/v1alpha1/v1alpha1_clusterconfig.go`).
 *
 * @throws {MachineConfigError} `bad-value` for what is no port. Talos takes any number,
 *   and kube-apiserver does not start with one that is none.
 */
export function apiServerPortOf(access: Access): number {
  const document = documentOf(access.config, DOCUMENT);
  if (document !== undefined) {
    const path = `${DOCUMENT}.apiPort`;
    return portIn(access, access.fields.scalar(document.map, 'apiPort', path), path);
  }
  const cluster = clusterOf(access);
  const controlPlane = cluster && access.fields.map(cluster, 'controlPlane', 'cluster.controlPlane');
  const path = 'cluster.controlPlane.localAPIServerPort';
  const scalar = controlPlane && access.fields.scalar(controlPlane, 'localAPIServerPort', path);
  return scalar?.type === 'PLAIN' && scalar.value === '0' ? USUAL_PORT : portIn(access, scalar, path);
}

function portIn(access: Access, scalar: Scalar.Parsed | undefined, path: string): number {
  if (scalar === undefined) return USUAL_PORT;
  const text = String(scalar.value);
  // Digits alone: what else Go reads as a number (0o17, 0x1F, 1_000) it may read as another one than we would.
  const port = scalar.type === 'PLAIN' && /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  const found = scalar.type === 'PLAIN' ? text : 'text, which Talos takes for no number';
  throw new MachineConfigError(
    'bad-value',
    `expected a port, 1 to 65535 in plain digits, found ${found}`,
    placeAt(access.config, scalar.range[0], path),
  );
}

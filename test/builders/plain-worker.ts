import { base64, type ClusterMaterial } from './machine-config.ts';

/** A worker's configuration in the fewest lines, without keys, so that a test can bend one of them; `lines` go to `cluster`. */
export function aPlainWorker({ talos, kubernetes }: ClusterMaterial, lines: readonly string[] = []): string {
  return [
    'machine:',
    '  type: worker',
    '  ca:',
    `    crt: ${base64(talos.certificate.pem)}`,
    'cluster:',
    '  ca:',
    `    crt: ${base64(kubernetes.certificate.pem)}`,
    ...lines,
    '',
  ].join('\n');
}

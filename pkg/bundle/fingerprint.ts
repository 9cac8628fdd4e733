import { createHash, hkdfSync } from 'node:crypto';
import { type CaTarget, type Fingerprint, Secret } from '../pki/index.ts';
import { CA_TARGETS, caOf, type SecretsBundle } from './bundle.ts';

/**
 * Names the Talos and Kubernetes CAs of a bundle: what an operator's credentials depend on. Two bundles have the same
 * one exactly when both certificates are the same. SHA-256, lower-case hex, over one line `target fingerprint` for each.
 */
export function bundleFingerprint(bundle: SecretsBundle): Fingerprint {
  return fingerprintOf(bundle, ['talos', 'kubernetes']);
}

/** As {@link bundleFingerprint}, with the etcd and aggregator CAs as well: tells whether an exported bundle is current. */
export function exportFingerprint(bundle: SecretsBundle): Fingerprint {
  return fingerprintOf(bundle, CA_TARGETS);
}

function fingerprintOf(bundle: SecretsBundle, targets: readonly CaTarget[]): Fingerprint {
  const lines = targets.map((target) => `${target} ${caOf(bundle, target).certificate.fingerprint}\n`);
  return createHash('sha256').update(lines.join('')).digest('hex') as Fingerprint;
}

/**
 * The key that encrypts backups of this cluster: 32 bytes, lower-case hex. HKDF-SHA256 over the decoded cluster secret,
 * salt the cluster ID as text, info `ichor backup key v1`. No rotation changes it, because none touches ID or secret.
 */
export function backupKey(bundle: Pick<SecretsBundle, 'clusterId' | 'clusterSecret'>): Secret<'backup-key'> {
  const secret = Buffer.from(bundle.clusterSecret.expose(), 'base64');
  const key = hkdfSync('sha256', secret, bundle.clusterId, 'ichor backup key v1', 32);
  return Secret.of('backup-key', Buffer.from(key).toString('hex'));
}

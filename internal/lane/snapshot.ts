import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { backupKey, createEnvelope, type SecretsBundle } from '../../pkg/bundle/index.ts';
import { Secret } from '../../pkg/pki/index.ts';

/** Larger databases are not held in memory; their owner takes a snapshot with the tools that are there for it. */
export const LARGEST_SNAPSHOT_BYTES = 512 * 1024 * 1024;

/** A snapshot that was taken, or why it is none. */
export type Taken =
  | { readonly ok: true; readonly bytes: Buffer; readonly sha256: string }
  | { readonly ok: false; readonly problem: string };

/**
 * Collects a snapshot and checks it by the sum that etcd appends: the last 32
 * bytes are the SHA-256 of all before them (etcd's own `snapshot restore` checks
 * the same).
 */
export async function collectSnapshot(chunks: AsyncIterable<Uint8Array>): Promise<Taken> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > LARGEST_SNAPSHOT_BYTES) {
      return { ok: false, problem: `it is larger than ${LARGEST_SNAPSHOT_BYTES / 1024 ** 2} MiB` };
    }
    parts.push(chunk);
  }
  const bytes = Buffer.concat(parts);
  return isWhole(bytes)
    ? { ok: true, bytes, sha256: bytes.subarray(-32).toString('hex') }
    : { ok: false, problem: `its ${bytes.length} bytes do not end in their SHA-256` };
}

/** Whether these bytes end in the SHA-256 of all before it. */
export function isWhole(bytes: Uint8Array): boolean {
  if (bytes.length <= 32) return false;
  const sum = createHash('sha256').update(bytes.subarray(0, -32)).digest();
  return sum.equals(bytes.subarray(-32));
}

/** Writes a snapshot encrypted with the backup key of the cluster (`age -d` opens it), mode 0600. */
export async function sealSnapshot(bytes: Uint8Array, bundle: SecretsBundle, path: string): Promise<void> {
  await writeFile(path, await envelopeOf(bundle).seal(bytes, path), { mode: 0o600, flag: 'wx' });
}

/** Opens such a file with the backup key of the bundle as it is now, and checks it again. Throws where that key does not open it. */
export async function openSnapshot(path: string, bundle: SecretsBundle): Promise<{ whole: boolean; sha256: string }> {
  const bytes = await envelopeOf(bundle).open(await readFile(path), path);
  return { whole: isWhole(bytes), sha256: Buffer.from(bytes.subarray(-32)).toString('hex') };
}

/** The key is 256 random bits: stretching it would cost time and add nothing. */
function envelopeOf(bundle: SecretsBundle) {
  const passphrase = Secret.of('passphrase', backupKey(bundle).expose());
  return createEnvelope({ passphrase, scryptWorkFactor: 10 }, { armored: false });
}

import { createHash } from 'node:crypto';

/** A file that ends as etcd ends a snapshot: in the SHA-256 of all before it; in two chunks. */
export async function* aSnapshot(content: string): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(content);
  yield bytes;
  yield createHash('sha256').update(bytes).digest();
}

import { createHash } from 'node:crypto';

/** Layout of bbolt's file format (go.etcd.io/bbolt `internal/common`). */
const PAGE_BYTES = 4_096;
const PAGE_HEADER_BYTES = 16;
const MAGIC = 0xed0cdaed;
const FORMAT = 2;
const FLAG_LEAF = 0x02;
const FLAG_META = 0x04;
const FLAG_FREELIST = 0x10;
const ROOT_PAGE = 3n;
const PAGES = 4n;

/**
 * A snapshot of an etcd that holds nothing: a whole bbolt file without buckets, and
 * the SHA-256 of it behind, as etcd sends it. The objects of a lab live in memory only.
 */
export function snapshotOf(): Buffer {
  const file = Buffer.concat([metaPage(0), metaPage(1), page(2n, FLAG_FREELIST), page(ROOT_PAGE, FLAG_LEAF)]);
  return Buffer.concat([file, createHash('sha256').update(file).digest()]);
}

function page(id: bigint, flags: number): Buffer {
  const bytes = Buffer.alloc(PAGE_BYTES);
  bytes.writeBigUInt64LE(id, 0);
  bytes.writeUInt16LE(flags, 8);
  return bytes;
}

function metaPage(transaction: number): Buffer {
  const bytes = page(BigInt(transaction), FLAG_META);
  const meta = bytes.subarray(PAGE_HEADER_BYTES);
  meta.writeUInt32LE(MAGIC, 0);
  meta.writeUInt32LE(FORMAT, 4);
  meta.writeUInt32LE(PAGE_BYTES, 8);
  // 12: flags. 16: the root bucket's page, 24: its sequence.
  meta.writeBigUInt64LE(ROOT_PAGE, 16);
  meta.writeBigUInt64LE(2n, 32);
  meta.writeBigUInt64LE(PAGES, 40);
  meta.writeBigUInt64LE(BigInt(transaction), 48);
  meta.writeBigUInt64LE(fnv64(meta.subarray(0, 56)), 56);
  return bytes;
}

/** FNV-1a, 64 bits. */
function fnv64(bytes: Uint8Array): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}

import { createHash } from 'node:crypto';

/** Layout of bbolt's file format (go.etcd.io/bbolt `internal/common`). */
const PAGE_BYTES = 4_096;
const PAGE_HEADER_BYTES = 16;
const MAGIC = 0xed0cdaed;
const FORMAT = 2;
const FLAG_LEAF = 0x02;
const FLAG_META = 0x04;
const FLAG_FREELIST = 0x10;
/** Marks a value of a leaf page that is a bucket. */
const BUCKET = 0x01;
const ELEMENT_BYTES = 16;
const ROOT_PAGE = 3n;
const META_BUCKET_PAGE = 4n;
const PAGES = 5n;

/**
 * A snapshot of an etcd that holds nothing: a whole bbolt file with the one bucket
 * that tells the storage version, and the SHA-256 of it behind, as etcd sends it.
 * The objects of a lab live in memory only.
 */
export function snapshotOf(storageVersion: string): Buffer {
  const metaBucket = Buffer.alloc(16);
  metaBucket.writeBigUInt64LE(META_BUCKET_PAGE, 0);
  const file = Buffer.concat([
    metaPage(0),
    metaPage(1),
    page(2n, FLAG_FREELIST),
    leafPage(ROOT_PAGE, BUCKET, 'meta', metaBucket),
    leafPage(META_BUCKET_PAGE, 0, 'storageVersion', Buffer.from(storageVersion)),
  ]);
  return Buffer.concat([file, createHash('sha256').update(file).digest()]);
}

function page(id: bigint, flags: number): Buffer {
  const bytes = Buffer.alloc(PAGE_BYTES);
  bytes.writeBigUInt64LE(id, 0);
  bytes.writeUInt16LE(flags, 8);
  return bytes;
}

/** A leaf page with one key. */
function leafPage(id: bigint, elementFlags: number, key: string, value: Buffer): Buffer {
  const bytes = page(id, FLAG_LEAF);
  bytes.writeUInt16LE(1, 10);
  const element = bytes.subarray(PAGE_HEADER_BYTES);
  element.writeUInt32LE(elementFlags, 0);
  element.writeUInt32LE(ELEMENT_BYTES, 4);
  element.writeUInt32LE(key.length, 8);
  element.writeUInt32LE(value.length, 12);
  element.write(key, ELEMENT_BYTES);
  value.copy(element, ELEMENT_BYTES + key.length);
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

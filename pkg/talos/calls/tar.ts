const BLOCK_BYTES = 512;
const NAME = { at: 0, bytes: 100 };
const SIZE = { at: 124, bytes: 12 };

/**
 * The content of one entry of a tar archive. The end of the archive may be
 * missing: Talos closes the compression but not the archive around a kubeconfig,
 * so there are no padding and no end marks.
 *
 * @throws Error when there is no such entry or its content is cut off
 */
export function readTarEntry(archive: Buffer, name: string): Buffer {
  let at = 0;
  while (at + BLOCK_BYTES <= archive.length) {
    const header = archive.subarray(at, at + BLOCK_BYTES);
    const entry = text(header, NAME);
    if (entry === '') break;
    const size = Number.parseInt(text(header, SIZE), 8);
    const content = archive.subarray(at + BLOCK_BYTES, at + BLOCK_BYTES + size);
    if (!(content.length === size)) throw new Error(`the content of ${entry} is cut off`);
    if (entry === name) return content;
    at += BLOCK_BYTES + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
  }
  throw new Error(`there is no entry ${name}`);
}

function text(header: Buffer, field: { at: number; bytes: number }): string {
  const raw = header.subarray(field.at, field.at + field.bytes).toString('latin1');
  return raw.split('\0')[0]?.trim() ?? '';
}

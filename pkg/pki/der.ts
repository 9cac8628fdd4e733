/** One DER value: tag, length, content. */
export interface DerValue {
  /** The identifier octet, such as 0x30 for SEQUENCE. */
  readonly tag: number;
  /** The content octets. */
  readonly content: Uint8Array;
  /** Identifier, length and content as they stand in the input. */
  readonly whole: Uint8Array;
}

/**
 * Reads the values that stand one after the other in `bytes`.
 *
 * Only what X.509 needs: single-octet tags, definite and minimal lengths, as DER demands.
 * @throws {RangeError} on anything else, and on trailing or missing octets.
 */
export function readDer(bytes: Uint8Array): readonly DerValue[] {
  const values: DerValue[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const value = readOne(bytes, offset);
    values.push(value);
    offset += value.whole.length;
  }
  return values;
}

/** The values inside a constructed value. */
export function childrenOf(value: DerValue | undefined): readonly DerValue[] {
  if (value === undefined) throw new RangeError('a DER value is missing');
  return readDer(value.content);
}

/** An OBJECT IDENTIFIER's content octets in dotted form. */
export function dottedOid(content: Uint8Array): string {
  const arcs: number[] = [];
  let arc = 0;
  for (const octet of content) {
    arc = arc * 128 + (octet & 0x7f);
    if (octet & 0x80) continue;
    if (arcs.length === 0) arcs.push(Math.min(2, Math.floor(arc / 40)), arc - 40 * Math.min(2, Math.floor(arc / 40)));
    else arcs.push(arc);
    arc = 0;
  }
  return arcs.join('.');
}

function readOne(bytes: Uint8Array, offset: number): DerValue {
  const tag = octetAt(bytes, offset);
  if ((tag & 0x1f) === 0x1f) throw new RangeError(`a multi-octet DER tag at offset ${offset}`);
  const first = octetAt(bytes, offset + 1);
  let length = first;
  let start = offset + 2;
  if (first >= 0x80) {
    const octets = first & 0x7f;
    if (octets === 0 || octets > 4) throw new RangeError(`a DER length of ${octets} octets at offset ${offset}`);
    length = 0;
    for (let i = 0; i < octets; i += 1) length = length * 256 + octetAt(bytes, start + i);
    start += octets;
    if (length < 0x80 || length < 256 ** (octets - 1))
      throw new RangeError(`a DER length that is not minimal at offset ${offset}`);
  }
  if (start + length > bytes.length) throw new RangeError(`a DER value at offset ${offset} is cut off`);
  return { tag, content: bytes.subarray(start, start + length), whole: bytes.subarray(offset, start + length) };
}

function octetAt(bytes: Uint8Array, offset: number): number {
  const octet = bytes[offset];
  if (octet === undefined) throw new RangeError(`DER ends at offset ${offset}`);
  return octet;
}

import { BundleError } from './error.ts';

/** What can be read of a file encrypted with age without opening it (the format: age-encryption.org/v1). */
export interface AgeHeader {
  /** True for the text form, false for the binary one. */
  readonly armored: boolean;
  /** One per recipient: `X25519`, `scrypt` (a passphrase), `mlkem768x25519`, `ssh-ed25519`, … */
  readonly stanzas: readonly string[];
}

const INTRO = 'age-encryption.org/v1';
const ARMOR_BEGIN = '-----BEGIN AGE ENCRYPTED FILE-----';
const ARMOR_END = '-----END AGE ENCRYPTED FILE-----';

/** The header of a file encrypted with age, or nothing when the bytes are something else. */
export function readAgeHeader(bytes: Uint8Array, path: string): AgeHeader | undefined {
  const start = Buffer.from(bytes.subarray(0, 64)).toString('latin1');
  const armored = start.trimStart().startsWith(ARMOR_BEGIN);
  if (!armored && !start.startsWith(INTRO)) return undefined;
  const binary = Buffer.from(armored ? decodeArmor(bytes, path) : bytes).toString('latin1');
  const end = binary.indexOf('\n--- ');
  if (end < 0) throw new BundleError('malformed', { path }, 'is encrypted with age, but its header is cut off');
  const stanzas = [...binary.slice(0, end).matchAll(/\n-> (\S+)/g)].map((match) => match[1] ?? '');
  return { armored, stanzas: stanzas.filter((name) => !name.endsWith('-grease')) };
}

/** The binary file inside the text form. Strict: RFC 7468 with lines of 64 characters, as age itself demands. */
export function decodeArmor(bytes: Uint8Array, path: string): Uint8Array {
  const lines = Buffer.from(bytes).toString('latin1').trim().split(/\r?\n/);
  const body = lines.slice(1, -1);
  const isWhole = lines[0] === ARMOR_BEGIN && lines.at(-1) === ARMOR_END && body.length > 0;
  const isBase64 = body.every(
    (line, index) =>
      /^[A-Za-z0-9+/]+={0,2}$/.test(line) && (index < body.length - 1 ? line.length === 64 : line.length <= 64),
  );
  if (!isWhole || !isBase64) {
    throw new BundleError(
      'malformed',
      { path },
      'is encrypted with age in its text form, but that is cut off or damaged',
    );
  }
  return Buffer.from(body.join(''), 'base64');
}

/** The text form of a binary file. */
export function encodeArmor(bytes: Uint8Array): Uint8Array {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return Buffer.from(`${[ARMOR_BEGIN, ...lines, ARMOR_END].join('\n')}\n`, 'latin1');
}

import { MachineConfigError, type Place } from '../error.ts';

/** 16 MiB: four times the largest configuration that Ichor promises to take. */
const MAX_LENGTH = 16 * 1024 * 1024;

/** The text of a configuration with what is needed to name and cut its lines. */
export interface SourceText {
  readonly text: string;
  readonly where: string | undefined;
  /** The line end of the first line; inserted lines use the same. */
  readonly eol: '\n' | '\r\n';
}

/**
 * Bytes of a configuration as text; a byte order mark stays part of the text.
 *
 * @throws {MachineConfigError} `not-utf8` with the line of the first byte that is not UTF-8.
 */
export function decodeMachineConfig(bytes: Uint8Array, where?: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    const readable = new TextDecoder().decode(bytes);
    const line = lineAt(readable, Math.max(readable.indexOf('\uFFFD'), 0));
    throw new MachineConfigError('not-utf8', 'the bytes are not UTF-8; Talos reads UTF-8 only', { where, line, cause });
  }
}

/**
 * Checks what no YAML reader agrees on before anything is parsed.
 *
 * @throws {MachineConfigError} `too-large`, `not-utf8` or `not-yaml`.
 */
export function sourceText(text: string, where?: string): SourceText {
  if (text.length > MAX_LENGTH) {
    throw new MachineConfigError('too-large', `has ${text.length} characters, the limit is ${MAX_LENGTH}`, { where });
  }
  if (!text.isWellFormed()) {
    const line = lineAt(text, text.search(/\p{Surrogate}/u));
    throw new MachineConfigError('not-utf8', 'holds half of a surrogate pair, which UTF-8 cannot carry', {
      where,
      line,
    });
  }
  // Go's reader breaks lines at some of these and ours does not: the two would see different documents.
  const odd = ODD_CHARACTERS.exec(text);
  if (odd) {
    const code = odd[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    throw new MachineConfigError('not-yaml', `holds the character U+${code}, which YAML readers take differently`, {
      where,
      line: lineAt(text, odd.index),
    });
  }
  return { text, where, eol: text[text.indexOf('\n') - 1] === '\r' ? '\r\n' : '\n' };
}

/** A bare carriage return, the Unicode line breaks of YAML 1.1, and control characters: Go refuses them, and some are marks of our lexer. */
const ODD_CHARACTERS = /\r(?!\n)|[\u2028\u2029]|(?![\t\n\r])\p{Cc}/u;

/** The 1-based line of an offset. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** The place of an offset, for an error. */
export function placeAt(source: SourceText, offset: number, field?: string): Place {
  return { where: source.where, line: lineAt(source.text, offset), field };
}

/** The offset at which the line of `offset` begins. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

/** The offset behind the line end of the line that `offset` is in; the end of the text where there is none. */
export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end + 1;
}

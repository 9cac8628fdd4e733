import { PkiError } from './errors.ts';

/** One `-----BEGIN …-----` block of a PEM text. */
export interface PemBlock {
  /** The text between `BEGIN ` and the dashes, such as `CERTIFICATE`. */
  readonly label: string;
  /** The decoded body. */
  readonly bytes: Uint8Array;
  /** 1-based line of the `BEGIN` marker. */
  readonly line: number;
  /** The block as it was written, with LF line ends, ending in a newline. */
  readonly text: string;
}

/** Something in a PEM text that is not a sound block; `line` is 1-based. */
export interface PemProblem {
  readonly line: number;
  readonly message: string;
}

/** Everything that a PEM text holds, the sound and the unsound. */
export interface PemScan {
  readonly blocks: readonly PemBlock[];
  readonly problems: readonly PemProblem[];
}

const BEGIN = /^-----BEGIN ([A-Z0-9][A-Z0-9 ]*)-----$/;
const END = /^-----END ([A-Z0-9][A-Z0-9 ]*)-----$/;
/** What follows a BEGIN marker. */
const BODY_OR_END = /^(?:[A-Za-z0-9+/]+={0,2}|-----END .*)$/;
/** A line of this many base64 characters and nothing else is the body of a block that lost its marker. */
const LOST_BODY = /^[A-Za-z0-9+/]{40,}={0,2}$/;
const UNPRINTABLE = /[^\t\x20-\x7e\u00a0-\uffff]/;

/**
 * Reads every block of a PEM text, in order, and names what is not sound.
 *
 * Lenient only where real etcd, Kubernetes and Talos are (measured with Go's
 * reader): CRLF, explanatory text between blocks, blanks at line ends, no last
 * newline. Everything that Go's reader skips *silently*, and so would lose a
 * trust anchor without a word, is a problem here: two blocks on one line,
 * truncated blocks, bad base64, marker-like lines, bodies without a marker.
 */
export function scanPem(text: string): PemScan {
  const scan: Scanning = { blocks: [], problems: [], open: undefined, lost: false };
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  for (const [index, line] of lines.entries()) takeLine(scan, line.trimEnd(), index + 1);
  if (scan.open) scan.problems.push(truncated(scan.open, 'the text ends'));
  return { blocks: scan.blocks, problems: scan.problems };
}

/**
 * Every block of a PEM text, in order.
 *
 * @param where the file or field, for the error.
 * @throws {PkiError} `invalid-pem` at the first problem that {@link scanPem} finds.
 */
export function parsePem(text: string, where?: string): readonly PemBlock[] {
  const { blocks, problems } = scanPem(text);
  const first = problems[0];
  if (first) throw new PkiError('invalid-pem', first.message, { where, line: first.line });
  return blocks;
}

/** One block, 64 characters a line, ending in a newline: the form that Go and OpenSSL write. */
export function writePemBlock(label: string, bytes: Uint8Array): string {
  const body =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${body.map((line) => `${line}\n`).join('')}-----END ${label}-----\n`;
}

interface Scanning {
  readonly blocks: PemBlock[];
  readonly problems: PemProblem[];
  open: OpenBlock | undefined;
  /** Behind a broken BEGIN marker: its body and END are no further problems. */
  lost: boolean;
}

function takeLine(scan: Scanning, line: string, number: number): void {
  const label = BEGIN.exec(line)?.[1];
  if (label !== undefined) {
    if (scan.open) scan.problems.push(truncated(scan.open, `the next block begins at line ${number}`));
    scan.open = { label, line: number, body: [] };
    scan.lost = false;
  } else if (scan.open === undefined) {
    takeStray(scan, line, number);
  } else if (line.startsWith('-----')) {
    const closed = closeBlock(scan.open, line, number);
    if ('message' in closed) scan.problems.push(closed);
    else scan.blocks.push(closed);
    scan.open = undefined;
    scan.lost = line.includes('-----BEGIN');
  } else {
    scan.open.body.push(line);
  }
}

function takeStray(scan: Scanning, line: string, number: number): void {
  if (scan.lost && BODY_OR_END.test(line)) {
    scan.lost = !line.startsWith('-----');
    return;
  }
  const message = strayText(line);
  scan.lost = message !== undefined;
  if (message !== undefined) scan.problems.push({ line: number, message });
}

interface OpenBlock {
  readonly label: string;
  readonly line: number;
  readonly body: string[];
}

function closeBlock(open: OpenBlock, line: string, number: number): PemBlock | PemProblem {
  const label = END.exec(line)?.[1];
  if (label === undefined) {
    const joined = line.startsWith('-----END') && line.includes('-----BEGIN');
    return {
      line: number,
      message: joined
        ? 'two blocks share this line: a newline is missing after the END marker, and readers would lose both'
        : `the ${open.label} block of line ${open.line} ends in a broken marker`,
    };
  }
  if (label !== open.label) {
    return { line: number, message: `END ${label} closes the ${open.label} block of line ${open.line}` };
  }
  const bad = open.body.findIndex((part) => part === '' || !/^[A-Za-z0-9+/=]+$/.test(part));
  if (bad !== -1) return { line: open.line + 1 + bad, message: badBodyLine(open, open.body[bad] ?? '') };
  const body = open.body.join('');
  if (body === '') return { line: open.line, message: `the ${open.label} block is empty` };
  const bytes = Buffer.from(body, 'base64');
  // Written back, the bytes give the same text: this refuses bad padding and stray bits, which readers judge differently.
  if (bytes.toString('base64') !== body) {
    return { line: open.line, message: `the body of the ${open.label} block is not base64: wrong length or padding` };
  }
  const text = `${[`-----BEGIN ${label}-----`, ...open.body, `-----END ${label}-----`].join('\n')}\n`;
  return { label, bytes: new Uint8Array(bytes), line: open.line, text };
}

// Body lines are never quoted: they may be key material.
function badBodyLine(open: OpenBlock, part: string): string {
  const block = `the ${open.label} block of line ${open.line}`;
  if (part === '') return `an empty line inside ${block}`;
  if (/^(?:Proc-Type|DEK-Info):/.test(part)) return `${block} is encrypted; decrypt it first (openssl pkey -in …)`;
  return `${block} holds characters that are not base64`;
}

function strayText(line: string): string | undefined {
  if (line.startsWith('-----END')) return 'an END marker without its BEGIN';
  if (line.includes('-----') || /^-+$/.test(line)) return 'a broken block marker';
  if (LOST_BODY.test(line)) return 'the body of a block whose BEGIN marker is missing';
  if (UNPRINTABLE.test(line)) return 'bytes that are not text';
  return undefined;
}

function truncated(open: OpenBlock, how: string): PemProblem {
  return { line: open.line, message: `the ${open.label} block is cut off: ${how} before its END marker` };
}

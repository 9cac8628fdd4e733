import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePem, scanPem, writePemBlock } from './pem.ts';

const BODY = 'aGVsbG8gd29ybGQ='; // "hello world"
const block = (label = 'CERTIFICATE', body = BODY) => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;

describe('reading PEM', () => {
  it('gives every block in order, with its line, label, bytes and text', () => {
    expect(parsePem(`${block()}\n${block('EC PRIVATE KEY', 'AAE=')}`)).toEqual([
      {
        label: 'CERTIFICATE',
        bytes: new Uint8Array(Buffer.from('hello world')),
        line: 1,
        text: '-----BEGIN CERTIFICATE-----\naGVsbG8gd29ybGQ=\n-----END CERTIFICATE-----\n',
      },
      {
        label: 'EC PRIVATE KEY',
        bytes: new Uint8Array([0, 1]),
        line: 5,
        text: '-----BEGIN EC PRIVATE KEY-----\nAAE=\n-----END EC PRIVATE KEY-----\n',
      },
    ]);
  });

  const tolerated: Readonly<Record<string, string>> = {
    'CRLF line ends': block().replaceAll('\n', '\r\n'),
    'a missing last newline': block().trimEnd(),
    'blanks at line ends': block().replaceAll('\n', ' \t\n'),
    'a byte order mark': `\ufeff${block()}`,
    'a comment before': `# our CA\n${block()}`,
    'a comment after': `${block()}# the end`,
    'the text that openssl writes before': `Certificate:\n    Data:\n        Serial: e9:04:bc\n${block()}`,
    'bag attributes': `Bag Attributes\n    friendlyName: Müller\nsubject=O = talos\n\n${block()}`,
    'empty lines around': `\n\n${block()}\n\n`,
  };
  for (const [what, text] of Object.entries(tolerated)) {
    it(`tolerates ${what}, and writes it back in the common form`, () => {
      expect(parsePem(text).map((read) => read.text)).toEqual([
        '-----BEGIN CERTIFICATE-----\naGVsbG8gd29ybGQ=\n-----END CERTIFICATE-----\n',
      ]);
    });
  }

  const refused: Readonly<Record<string, readonly [text: string, message: string]>> = {
    'a missing newline between two blocks': [
      block().trimEnd() + block(),
      'ca.pem, line 3: two blocks share this line: a newline is missing after the END marker, and readers would lose both',
    ],
    'a block cut off by the end': [
      `${block()}-----BEGIN CERTIFICATE-----\naGVs`,
      'ca.pem, line 4: the CERTIFICATE block is cut off: the text ends before its END marker',
    ],
    'a block cut off by the next one': [
      `-----BEGIN CERTIFICATE-----\naGVs\n${block()}`,
      'ca.pem, line 1: the CERTIFICATE block is cut off: the next block begins at line 3 before its END marker',
    ],
    'an END of another label': [
      block().replace('END CERTIFICATE', 'END EC PRIVATE KEY'),
      'ca.pem, line 3: END EC PRIVATE KEY closes the CERTIFICATE block of line 1',
    ],
    'a broken END marker': [
      block().replace('END CERTIFICATE-----', 'END CERTIFICATE--'),
      'ca.pem, line 3: the CERTIFICATE block of line 1 ends in a broken marker',
    ],
    'an END alone': ['-----END CERTIFICATE-----\n', 'ca.pem, line 1: an END marker without its BEGIN'],
    'a broken BEGIN marker': ['----BEGIN CERTIFICATE-----\n', 'ca.pem, line 1: a broken block marker'],
    'an indented block': [`key: |\n  ${block()}`, 'ca.pem, line 2: a broken block marker'],
    'a body without its BEGIN': [
      `${'QUJD'.repeat(16)}\n`,
      'ca.pem, line 1: the body of a block whose BEGIN marker is missing',
    ],
    'bytes that are not text': ['\u0000\u0001\n', 'ca.pem, line 1: bytes that are not text'],
    'characters that are not base64': [
      block('CERTIFICATE', 'aGVs\nbG8*'),
      'ca.pem, line 3: the CERTIFICATE block of line 1 holds characters that are not base64',
    ],
    'URL-safe base64': [
      block('CERTIFICATE', '-_-_'),
      'ca.pem, line 2: the CERTIFICATE block of line 1 holds characters that are not base64',
    ],
    'missing padding': [
      block('CERTIFICATE', 'aGVsbG8gd29ybGQ'),
      'ca.pem, line 1: the body of the CERTIFICATE block is not base64: wrong length or padding',
    ],
    'padding in the middle': [
      block('CERTIFICATE', 'aGU=\naGVs'),
      'ca.pem, line 1: the body of the CERTIFICATE block is not base64: wrong length or padding',
    ],
    'stray bits in the last character': [
      block('CERTIFICATE', 'aGVsbG8gd29ybGR='),
      'ca.pem, line 1: the body of the CERTIFICATE block is not base64: wrong length or padding',
    ],
    'an empty body': ['-----BEGIN X-----\n-----END X-----\n', 'ca.pem, line 1: the X block is empty'],
    'an empty line inside': [
      block('CERTIFICATE', 'aGVs\n\nbG8h'),
      'ca.pem, line 3: an empty line inside the CERTIFICATE block of line 1',
    ],
    'a line that speaks of encryption and is no header of it': [
      block('EC PRIVATE KEY', 'X-Proc-Type: 4,ENCRYPTED\naGVs'),
      'ca.pem, line 2: the EC PRIVATE KEY block of line 1 holds characters that are not base64',
    ],
    'an encrypted key': [
      block('EC PRIVATE KEY', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\naGVs'),
      'ca.pem, line 2: the EC PRIVATE KEY block of line 1 is encrypted; decrypt it first (openssl pkey -in …)',
    ],
  };
  for (const [what, [text, message]] of Object.entries(refused)) {
    it(`refuses ${what}, naming the line`, () => {
      expect(() => parsePem(text, 'ca.pem')).toThrow(
        expect.objectContaining({ name: 'PkiError', kind: 'invalid-pem', message }),
      );
    });
  }

  it('lists all problems and still gives the sound blocks', () => {
    const text = `${block()}-----END X-----\n${block('A')}-----BEGIN B-----\nAAAA`;

    const { blocks, problems } = scanPem(text);

    expect(blocks.map(({ label, line }) => ({ label, line }))).toEqual([
      { label: 'CERTIFICATE', line: 1 },
      { label: 'A', line: 5 },
    ]);
    expect(problems).toEqual([
      { line: 4, message: 'an END marker without its BEGIN' },
      { line: 8, message: 'the B block is cut off: the text ends before its END marker' },
    ]);
  });

  it('names a block that lost its BEGIN once, and goes on behind it', () => {
    const body = `${'QUJD'.repeat(16)}\n`.repeat(3);

    const { blocks, problems } = scanPem(`----BEGIN A-----\n${body}QUJD\n-----END A-----\n-----END B-----\n${block()}`);

    expect(problems).toEqual([
      { line: 1, message: 'a broken block marker' },
      { line: 7, message: 'an END marker without its BEGIN' },
    ]);
    expect(blocks.map(({ line }) => line)).toEqual([8]);
  });

  it('never quotes a body, which may be a key', () => {
    const body = 'c2VjcmV0IGtleSBieXRlcw';

    const { problems } = scanPem(block('EC PRIVATE KEY', `${body}\n!${body}`) + block('EC PRIVATE KEY', body));

    expect(problems).toHaveLength(2);
    expect(JSON.stringify(problems)).not.toContain(body);
  });

  it('finds nothing in an empty text', () => {
    expect(parsePem('')).toEqual([]);
  });
});

describe('writing PEM', () => {
  it('breaks lines after 64 characters and ends in a newline', () => {
    expect(writePemBlock('X', new Uint8Array(49))).toBe(
      `-----BEGIN X-----\n${'A'.repeat(64)}\nAA==\n-----END X-----\n`,
    );
  });

  it('is undone by reading, for any blocks in any order', () => {
    const anyBlock = fc.record({
      label: fc.constantFrom('CERTIFICATE', 'PRIVATE KEY', 'ED25519 PRIVATE KEY'),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    });
    fc.assert(
      fc.property(fc.array(anyBlock), (blocks) => {
        const text = blocks.map(({ label, bytes }) => writePemBlock(label, bytes)).join('');
        const read = parsePem(text);
        expect(read.map(({ label, bytes }) => ({ label, bytes: [...bytes] }))).toEqual(
          blocks.map(({ label, bytes }) => ({ label, bytes: [...bytes] })),
        );
        expect(read.map((found) => found.text).join('')).toBe(text);
      }),
    );
  });

  it('never reads damaged text as something else: a cut is refused, or whole blocks are missing at the end', () => {
    const text = block() + block('A', 'AAEC') + block('B', 'AwQF');
    for (let cut = 0; cut < text.length; cut += 1) {
      const { blocks, problems } = scanPem(text.slice(0, cut));
      const whole = blocks.map((found) => found.text).join('');
      expect(text.startsWith(whole)).toBe(true);
      // Where nothing is named, whole blocks are all there is, but for the newline of the last one.
      if (problems.length === 0) expect([0, 1]).toContain(whole.length - cut);
    }
  });
});

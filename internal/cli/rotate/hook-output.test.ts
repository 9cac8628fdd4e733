import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { lastWords } from './hook-output.ts';

const BODY = 'MC4CAQAwBQYDK2VwBCIEIH7pWqfS0cq2sNYQ';
const SHORT = 'dGhlIGVuZCBvZiBpdA==';

describe('the last words of a hook', () => {
  it.each([
    ['nothing', '', ''],
    ['one line', 'waiting for 3 replicas\n', 'waiting for 3 replicas'],
    ['the last three lines', 'a\nb\n\n  c  \r\nd\n', 'b / c / d'],
    ['no colours', '\u001b[31;1mno such node\u001b[0m', 'no such node'],
    ['no title of a window', '\u001b]0;owned\u0007done', 'done'],
    ['nothing that moves a cursor or turns text', 'a\u0007b\u009bc\u202ed\tz', 'a b c d z'],
    ['what is no text', 'caf\u00e9 \u0000\u0001 ok', 'caf\u00e9   ok'],
  ])('are of %s', (_what, printed, expected) => {
    assert.equal(lastWords(printed), expected);
  });

  it('are at most 300 characters, the last ones', () => {
    assert.equal(lastWords(`${'.'.repeat(200)}begin${'.'.repeat(298)}ab`), `…${'.'.repeat(298)}ab`);
  });

  it.each([
    [
      'a key',
      `key:\n-----BEGIN ED25519 PRIVATE KEY-----\n${BODY}\n${SHORT}\n-----END ED25519 PRIVATE KEY-----\nfailed`,
    ],
    ['one whose beginning is gone', `${SHORT}\n${BODY}\n-----END PRIVATE KEY-----\nfailed`],
    ['the end of one', `${SHORT}\n-----END PRIVATE KEY-----\nfailed`],
    ['one that does not end', `failed\n-----BEGIN PRIVATE KEY-----\n${BODY}\n${SHORT}`],
    ['one in one line', `failed with LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t${BODY}${SHORT}`],
  ])('hold nothing of %s', (_what, printed) => {
    const words = lastWords(printed);

    assert.match(words, /failed/);
    assert.match(words, /\[removed\]/);
    for (const secret of [BODY, SHORT, BODY.slice(0, 20)]) assert.ok(!words.includes(secret), words);
  });

  it('keep short names, numbers and paths', () => {
    const words = 'volume pvc-0a1b2c3d of longhorn-system/node-1: 2 of 3 replicas at /var/lib/longhorn';

    assert.equal(lastWords(words), words);
  });
});

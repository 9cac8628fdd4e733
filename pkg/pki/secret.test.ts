import assert from 'node:assert/strict';
import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { format, inspect } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { PkiError } from './errors.ts';
import { Secret } from './secret.ts';

const VALUE = 'hunter2-the-key-bytes';
const secret = Secret.of('private-key', VALUE);

describe('a secret', () => {
  it('gives its value to who asks for it by name', () => {
    expect(secret.expose()).toBe('hunter2-the-key-bytes');
    expect(secret.kind).toBe('private-key');
  });

  it('compares values, whatever the kind', () => {
    expect(secret.equals(Secret.of('token', VALUE))).toBe(true);
    expect(secret.equals(Secret.of('private-key', 'hunter2-the-key-byteS'))).toBe(false);
    expect(secret.equals(Secret.of('private-key', ''))).toBe(false);
  });

  it('is told apart from another one by deep equality, so that a test cannot pass by accident', () => {
    const same = { key: Secret.of('private-key', VALUE) };
    const other = { key: Secret.of('private-key', 'another') };

    expect({ key: secret }).toEqual(same);
    expect({ key: secret }).not.toEqual(other);
    assert.deepEqual({ key: secret }, same);
    assert.notDeepEqual({ key: secret }, other);
  });

  it('cannot be changed', () => {
    expect(() => Object.assign(secret, { value: 'x' })).toThrow(TypeError);
  });
});

/** Every way from an object to text or to another object that we know of. */
const WAYS_OUT: Readonly<Record<string, () => unknown>> = {
  'a template string': () => `${secret} ${{ secret }.secret}`,
  concatenation: () => `x${secret as unknown as string}`,
  'String()': () => String(secret),
  'toString()': () => secret.toString(),
  'toLocaleString()': () => secret.toLocaleString(),
  'valueOf()': () => inspect(secret.valueOf()),
  'join()': () => [secret, secret].join(),
  JSON: () => JSON.stringify({ secret, deep: [{ secret }] }),
  'JSON of its own properties': () => JSON.stringify({ ...secret }),
  'util.inspect': () => inspect(secret),
  'util.inspect with everything shown': () =>
    inspect({ secret }, { showHidden: true, depth: Number.POSITIVE_INFINITY, getters: true, showProxy: true }),
  'util.inspect past the custom inspector': () =>
    inspect({ secret }, { showHidden: true, depth: Number.POSITIVE_INFINITY, getters: true, customInspect: false }),
  'util.format': () => format('%s %o %O %j %d %i', secret, secret, secret, secret, secret, secret),
  'util.format of a fragment': () => format('%s', { secret }),
  'Object.entries': () => inspect(Object.entries(secret)),
  'own keys and symbols': () => inspect(Reflect.ownKeys(secret).map((key) => Reflect.get(secret, key))),
  spread: () => inspect({ ...secret }, { showHidden: true }),
  'a destructured rest': () => {
    const { kind: _kind, ...rest } = secret;
    return inspect(rest, { showHidden: true });
  },
  'for … in': () => {
    const found: unknown[] = [];
    for (const key in secret) found.push(Reflect.get(secret, key));
    return inspect(found);
  },
  structuredClone: () => inspect(structuredClone({ secret }), { showHidden: true, depth: Number.POSITIVE_INFINITY }),
  'v8.serialize': () => serialize({ secret }).toString('latin1') + inspect(deserialize(serialize({ secret }))),
  'console.log': () => printed((console) => console.log('key: %s', secret, secret, { secret })),
  'console.error': () => printed((console) => console.error(secret)),
  'console.dir': () => printed((console) => console.dir({ secret }, { showHidden: true, depth: null })),
  'console.table': () => printed((console) => console.table([{ secret }, secret])),
  'an error message': () => new PkiError('invalid-key', `cannot read ${secret}`).stack,
  'the cause of an error': () => inspect(new Error('failed', { cause: secret }), { showHidden: true }),
  'the cause of an error in an object': () => inspect(new PkiError('refused', 'no', { cause: { secret } })),
  'an aggregate error': () => inspect(new AggregateError([secret], 'many'), { showHidden: true }),
  'a failed assertion of node:assert': () => thrown(() => assert.deepEqual({ secret }, { secret: 'x' })),
  'a failed assertion of vitest': () => thrown(() => expect({ secret }).toEqual({ secret: 'x' })),
  'a failed comparison of two secrets in vitest': () =>
    thrown(() => expect({ secret }).toStrictEqual({ secret: Secret.of('private-key', 'other') })),
  'a failed vitest matcher': () => thrown(() => expect(secret).toBeUndefined()),
  'pino, as a field': () => logged((logger) => logger.info({ secret, deep: { list: [secret] } }, 'made a key')),
  'pino, as a message argument': () => logged((logger) => logger.info('made %s %o %j', secret, secret, secret)),
  'pino, as an error': () => logged((logger) => logger.error(new Error('failed', { cause: secret }), 'oops')),
  'pino, as a binding': () => logged((logger) => logger.child({ secret }).info('hello')),
};

describe('a secret does not leave through', () => {
  for (const [way, out] of Object.entries(WAYS_OUT)) {
    it(way, () => {
      const text = String(out());

      expect(text).not.toContain('hunter2');
      expect(text).not.toContain(Buffer.from(VALUE).toString('base64').slice(0, 12));
      expect(text).not.toContain(Buffer.from(VALUE).toString('hex').slice(0, 12));
    });
  }

  it('a snapshot of vitest', () => {
    expect({ secret }).toMatchInlineSnapshot(`
      {
        "secret": "[private-key redacted]",
      }
    `);
  });

  it('its text form, which names the kind', () => {
    expect(`${secret}`).toBe('[private-key redacted]');
    expect(Object.prototype.toString.call(secret)).toBe('[object Secret]');
    expect(inspect(secret)).toBe('[private-key redacted]');
    expect(JSON.stringify(secret)).toBe('"[private-key redacted]"');
  });
});

function printed(print: (console: Console) => void): string {
  return collected((sink) => print(new Console(sink, sink)));
}

function logged(log: (logger: pino.Logger) => void): string {
  return collected((sink) => log(pino({}, sink)));
}

function collected(write: (sink: Writable) => void): string {
  const chunks: string[] = [];
  write(
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        chunks.push(chunk.toString());
        done();
      },
    }),
  );
  // A way out that wrote nothing would prove nothing.
  expect(chunks.join('')).not.toBe('');
  return chunks.join('');
}

function thrown(run: () => void): string {
  try {
    run();
  } catch (error) {
    return inspect(error, { showHidden: true, depth: Number.POSITIVE_INFINITY, getters: true });
  }
  throw new Error('expected a failed assertion');
}

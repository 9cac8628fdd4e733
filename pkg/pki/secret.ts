import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

/** Never stored and never printed: makes the identity below worthless outside this run of the program. */
const salt = randomBytes(32).toString('hex');

/** Lets deep equality of test runners and `node:assert` see two different secrets as different. */
const identity = Symbol('secret identity');

/**
 * A text that must not be printed: a private key, a token, a passphrase.
 *
 * The value lives in a private field, which neither `util.inspect` nor JSON nor
 * structured clone can reach; everything that turns an object into text gets
 * `[kind redacted]`. The value leaves through {@link Secret.expose} only, which
 * callers use at the edge: the last moment before a file, a socket or a cipher.
 *
 * `Kind` keeps an encryption key from being passed where a private key belongs.
 */
export class Secret<Kind extends string = string> {
  readonly #kind: Kind;
  readonly #value: string;
  /** A digest with a salt of this run in front: equal for equal secrets, tells nothing about them. */
  readonly [identity]: string;

  private constructor(kind: Kind, value: string) {
    this.#kind = kind;
    this.#value = value;
    this[identity] = hash('sha256', `${salt}${kind}\0${value}`, 'hex');
    Object.freeze(this);
  }

  /** Wraps `value`; the caller should keep no other reference to it. */
  static of<K extends string>(kind: K, value: string): Secret<K> {
    return new Secret(kind, value);
  }

  /** What the secret is for, such as `private-key`; safe to print. */
  get kind(): Kind {
    return this.#kind;
  }

  /** The value itself. Only for the edge; never for a message, a log line or an error. */
  expose(): string {
    return this.#value;
  }

  /** Whether both hold the same value, compared in constant time; the kinds are not compared. */
  equals(other: Secret): boolean {
    return timingSafeEqual(sha256(this.#value), sha256(other.expose()));
  }

  toString(): string {
    return `[${this.#kind} redacted]`;
  }

  toJSON(): string {
    return this.toString();
  }

  [Symbol.toPrimitive](): string {
    return this.toString();
  }

  get [Symbol.toStringTag](): string {
    return 'Secret';
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

/** A private key as PEM text with Talos's own label for its algorithm, ending in a newline. */
export type PrivateKeyPem = Secret<'private-key'>;

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** The bytes of one TCP connection, between the socket and the TLS on top. */
export interface Wire {
  readonly stream: Duplex;
  /** Sends last bytes, made of all that was sent before, and ends the connection in order, so that the other side reads them. */
  refuse(last: (sent: Buffer) => Buffer): void;
  /** Keeps what is sent no longer. */
  forget(): void;
  /** Nothing comes in and nothing goes out any more. */
  freeze(): void;
  /** Hangs up behind what was sent, which the other side can still read. */
  hangUp(): void;
  /** Breaks the connection (RST). */
  reset(): void;
}

/** How long a client may keep its half of a connection that was given up. */
const LINGER_MS = 5_000;

/** Takes a connection over. */
export function wireOver(raw: Socket): Wire {
  let sent: Buffer[] | undefined = [];
  let isFrozen = false;
  let isRefused = false;
  const stream = new Duplex({
    read: () => {
      if (!isFrozen) raw.resume();
    },
    write(chunk: Buffer, _encoding, done) {
      sent?.push(chunk);
      // Never done: what is lost is not told.
      if (isFrozen) return;
      if (raw.destroyed) done();
      else raw.write(chunk, () => done());
    },
    final(done) {
      if (!isFrozen) raw.end();
      done();
    },
    destroy(error, done) {
      if (!isFrozen) raw.destroy();
      done(error);
    },
  });
  raw.on('data', (chunk: Buffer) => {
    if (isFrozen || isRefused) return;
    if (!stream.push(chunk)) raw.pause();
  });
  raw.on('end', () => stream.push(null));
  raw.on('error', () => stream.destroy());
  raw.on('close', () => stream.destroy());
  return {
    stream,
    refuse(last) {
      if (raw.destroyed) return;
      // Closing with unread bytes would reset the connection and lose the alert: read on, for who does not hang up a while.
      isRefused = true;
      raw.resume();
      raw.setTimeout(LINGER_MS, () => raw.destroy());
      raw.end(last(Buffer.concat(sent ?? [])));
      sent = undefined;
    },
    forget() {
      sent = undefined;
    },
    freeze() {
      isFrozen = true;
      raw.pause();
    },
    hangUp() {
      if (isFrozen) {
        raw.destroy();
        return;
      }
      raw.setTimeout(LINGER_MS, () => raw.destroy());
      raw.destroySoon();
    },
    reset() {
      isFrozen = false;
      raw.resetAndDestroy();
      stream.destroy();
    },
  };
}

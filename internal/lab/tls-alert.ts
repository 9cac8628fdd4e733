import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';

/**
 * Alerts by which Go's TLS refuses a client certificate (RFC 8446, 6.2): a CA that
 * it does not know, none at all, a time outside the validity, and the rest.
 */
export const ALERTS = {
  'unknown-ca': 48,
  'certificate-required': 116,
  'certificate-expired': 45,
  'bad-certificate': 42,
} as const;

/** Why a server hangs up on a client. */
export type AlertName = keyof typeof ALERTS;

/** The one cipher suite that servers of a lab offer, so that an alert can be sealed here; every TLS 1.3 client has it. */
export const CIPHERS = 'TLS_AES_128_GCM_SHA256';

const HEADER_BYTES = 5;
const TAG_BYTES = 16;
const APPLICATION_DATA = 23;
const ALERT = 21;
const FATAL = 2;

/**
 * The TLS 1.3 record of a fatal alert, sealed for a connection whose handshake is over.
 *
 * Node's TLS lets every client certificate pass the handshake and then hangs up
 * without a word, while Go, which all servers of Talos are written in, says why.
 * Clients act on that word, so it is said here: with the traffic secret that Node
 * gives out for key logs, and the sequence number that follows from what the server
 * has sent already (its session tickets).
 *
 * @param secret SERVER_TRAFFIC_SECRET_0 of the connection
 * @param sent every byte that the server has sent
 */
export function sealedAlert(alert: AlertName, secret: Buffer, sent: Buffer): Buffer {
  const key = expandLabel(secret, 'key', 16);
  const iv = expandLabel(secret, 'iv', 12);
  const sequence = recordsUnder(key, iv, sent);
  const plain = Buffer.from([FATAL, ALERTS[alert], ALERT]);
  const header = Buffer.from([APPLICATION_DATA, 3, 3, 0, plain.length + TAG_BYTES]);
  const cipher = createCipheriv('aes-128-gcm', key, nonceOf(iv, sequence));
  cipher.setAAD(header);
  return Buffer.concat([header, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** How many of the records are sealed with this key: those before it are of the handshake. */
function recordsUnder(key: Buffer, iv: Buffer, sent: Buffer): number {
  let sequence = 0;
  for (let at = 0; at + HEADER_BYTES <= sent.length; ) {
    const header = sent.subarray(at, at + HEADER_BYTES);
    const body = sent.subarray(at + HEADER_BYTES, at + HEADER_BYTES + header.readUInt16BE(3));
    if (header[0] === APPLICATION_DATA && opens(key, nonceOf(iv, sequence), header, body)) sequence += 1;
    at += HEADER_BYTES + body.length;
  }
  return sequence;
}

function opens(key: Buffer, nonce: Buffer, header: Buffer, body: Buffer): boolean {
  if (body.length < TAG_BYTES) return false;
  const decipher = createDecipheriv('aes-128-gcm', key, nonce);
  decipher.setAAD(header);
  decipher.setAuthTag(body.subarray(body.length - TAG_BYTES));
  decipher.update(body.subarray(0, body.length - TAG_BYTES));
  try {
    decipher.final();
    return true;
  } catch {
    return false;
  }
}

function nonceOf(iv: Buffer, sequence: number): Buffer {
  const nonce = Buffer.from(iv);
  nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ sequence) >>> 0, 8);
  return nonce;
}

/** HKDF-Expand-Label of RFC 8446, 7.1, with an empty context; one block is enough for keys and nonces. */
function expandLabel(secret: Buffer, label: string, bytes: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, bytes, name.length]), name, Buffer.from([0])]);
  return createHmac('sha256', secret)
    .update(Buffer.concat([info, Buffer.from([1])]))
    .digest()
    .subarray(0, bytes);
}

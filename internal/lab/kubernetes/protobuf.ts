import { toMicroTime, toTime } from '../../../pkg/kube/index.ts';
import { type FieldType, MESSAGES, type Message, messageOf } from './protobuf-messages.ts';

/** What every body in this format begins with. */
const MAGIC = Buffer.from('k8s\0', 'latin1');

/** A body that cannot be read; the message is for whoever sent it. */
export class ProtobufError extends Error {}

/**
 * Reads an object that a Go client sent in protobuf, which it prefers for kinds of its own: those that kubectl creates.
 * The result is what it would have sent as JSON. Throws a {@link ProtobufError}.
 */
export function readProtobuf(bytes: Buffer): unknown {
  if (!bytes.subarray(0, 4).equals(MAGIC)) throw new ProtobufError('it does not begin with k8s and a zero byte');
  const { typeMeta, raw } = readMessage(bytes.subarray(4), MESSAGES.unknown) as {
    typeMeta?: { apiVersion?: string; kind?: string };
    raw?: Buffer;
  };
  const { apiVersion = '', kind = '' } = typeMeta ?? {};
  const message = messageOf(apiVersion, kind);
  if (message === undefined) throw new ProtobufError(`${apiVersion} ${kind} is read only as JSON here`);
  return { apiVersion, kind, ...readMessage(raw ?? Buffer.alloc(0), message) };
}

/** One field off the wire: a number, or the bytes of anything longer. */
interface Field {
  readonly number: number;
  readonly value: bigint | Buffer;
}

function* fieldsOf(bytes: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) break;
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new ProtobufError('it ends within a number');
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new ProtobufError('it ends within a field');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const number = key >>> 3;
    switch (key & 7) {
      case 0:
        yield { number, value: varint() };
        break;
      case 1:
        yield { number, value: take(8) };
        break;
      case 2:
        yield { number, value: take(Number(varint())) };
        break;
      case 5:
        yield { number, value: take(4) };
        break;
      default:
        throw new ProtobufError(`it has a field of wire type ${key & 7}`);
    }
  }
}

function readMessage(bytes: Buffer, message: Message): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const { number, value } of fieldsOf(bytes)) {
    const field = message[number];
    // What is not described is not taken up by the lab either.
    if (field === undefined) continue;
    const [name, type] = field;
    if (typeof type === 'object' && 'list' in type) {
      result[name] = [...((result[name] ?? []) as unknown[]), readValue(type.list, value)];
    } else if (typeof type === 'object' && 'map' in type) {
      const entry = readMessage(bytesOf(value), { 1: ['key', 'text'], 2: ['value', type.map] });
      result[name] = { ...(result[name] as object | undefined), [String(entry.key ?? '')]: entry.value ?? '' };
    } else {
      const read = readValue(type, value);
      // Go writes an empty text where nothing was set.
      if (read !== '' && read !== undefined) result[name] = read;
    }
  }
  return result;
}

function bytesOf(value: bigint | Buffer): Buffer {
  if (typeof value === 'bigint') throw new ProtobufError('a field is a number where bytes were expected');
  return value;
}

function numberOf(value: bigint | Buffer): number {
  if (typeof value !== 'bigint') throw new ProtobufError('a field is bytes where a number was expected');
  return Number(BigInt.asIntN(64, value));
}

function readValue(type: FieldType, value: bigint | Buffer): unknown {
  if (typeof type === 'object') {
    if ('message' in type) return readMessage(bytesOf(value), type.message);
    throw new ProtobufError('lists of lists are not known');
  }
  switch (type) {
    case 'text':
      return bytesOf(value).toString('utf8');
    case 'raw':
      return bytesOf(value);
    case 'bytes':
      return bytesOf(value).toString('base64');
    case 'number':
      return numberOf(value);
    case 'boolean':
      return numberOf(value) !== 0;
    case 'time':
    case 'micro-time':
      return timeOf(bytesOf(value), type);
    case 'number-or-text': {
      const { type: which, number, text } = readMessage(bytesOf(value), MESSAGES.numberOrText);
      return which === 1 ? text : (number ?? 0);
    }
  }
}

/** A moment; undefined for the one that stands for none. */
function timeOf(bytes: Buffer, type: 'time' | 'micro-time'): string | undefined {
  const { seconds, nanos = 0 } = readMessage(bytes, MESSAGES.time) as { seconds?: number; nanos?: number };
  if (seconds === undefined) return undefined;
  const ms = seconds * 1_000 + Math.floor(nanos / 1_000_000);
  return type === 'time' ? toTime(ms) : toMicroTime(ms);
}

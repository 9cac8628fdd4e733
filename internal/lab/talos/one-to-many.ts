import { Metadata } from '../../../proto/generated/talos/common.ts';
import { CODE_NAMES, type GrpcError } from './grpc.ts';

/**
 * What an apid makes of the replies of several machines (siderolabs/grpc-proxy
 * `proxy/handler_one2many.go`): it does not know the messages, but that every reply
 * is `{messages = 1}` and every message has `metadata = 1`, to which it adds.
 */

/** A length-delimited field number 1. */
const FIELD_1 = 0x0a;

/** The reply of one machine to a unary call, with its name in every message. */
export function namedReply(reply: Buffer, hostname: string): Buffer {
  return Buffer.concat(fieldsOf(reply).map((message) => field(namedMessage(message, hostname))));
}

/** One message of a stream, with the name of the machine that it is from. */
export function namedMessage(message: Buffer, hostname: string): Buffer {
  return Buffer.concat([message, field(metadata({ hostname, error: '', status: undefined }))]);
}

/** The message that stands for a machine whose call failed. */
export function failedMessage(hostname: string, { code, message }: GrpcError): Buffer {
  const error = `rpc error: code = ${CODE_NAMES[code] ?? code} desc = ${message}`;
  return field(metadata({ hostname, error, status: { code, message, details: [] } }));
}

/** A unary reply that holds just that message. */
export function asReply(message: Buffer): Buffer {
  return field(message);
}

function metadata(message: Metadata): Buffer {
  return Buffer.from(Metadata.encode(message).finish());
}

function field(content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([FIELD_1]), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}

/** The contents of every field 1; a unary reply of Talos has no other. */
function fieldsOf(reply: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < reply.length; ) {
    if (reply[at] !== FIELD_1) throw new Error('a reply that is no list of messages cannot be told apart by machine');
    let length = 0;
    let shift = 0;
    at += 1;
    for (let more = true; more; at += 1) {
      const byte = reply[at] ?? 0;
      length |= (byte & 0x7f) << shift;
      shift += 7;
      more = byte >= 0x80;
    }
    found.push(reply.subarray(at, at + length));
    at += length;
  }
  return found;
}

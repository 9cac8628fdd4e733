import { credentials, Client as GrpcClient, type ServiceError } from '@grpc/grpc-js';
import type { SecretsBundle } from '../../pkg/bundle/index.ts';
import { etcdClientProfile, issueLeaf, toPkcs8 } from '../../pkg/pki/index.ts';

const ETCD_PORT = 2379;
const DEADLINE_MS = 10_000;

/**
 * Raises the alarm NOSPACE of one member, as etcd does when its database is full.
 * etcdctl can only list and disarm alarms, so etcd's own call is made: AlarmRequest
 * is `action` 1 (ACTIVATE = 1), `memberID` 2, `alarm` 3 (NOSPACE = 1) in etcd's rpc.proto.
 */
export async function raiseNoSpace(options: {
  readonly address: string;
  /** Sixteen hexadecimal digits. */
  readonly memberId: string;
  readonly bundle: SecretsBundle;
}): Promise<void> {
  const { address, memberId, bundle } = options;
  const leaf = await issueLeaf(bundle.etcd, etcdClientProfile({ now: Date.now() }));
  const identity = credentials.createSsl(
    Buffer.from(bundle.etcd.certificate.pem),
    Buffer.from(toPkcs8(leaf.key).expose()),
    Buffer.from(leaf.certificate.pem),
  );
  const request = Buffer.from([0x08, 1, 0x10, ...varint(BigInt(`0x${memberId}`)), 0x18, 1]);
  const client = new GrpcClient(`${address}:${ETCD_PORT}`, identity);
  try {
    await new Promise<void>((resolve, reject) => {
      client.makeUnaryRequest(
        '/etcdserverpb.Maintenance/Alarm',
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => bytes,
        request,
        { deadline: Date.now() + DEADLINE_MS },
        (error: ServiceError | null) => (error === null ? resolve() : reject(error)),
      );
    });
  } finally {
    client.close();
  }
}

/** A number as protocol buffers write it: seven bits a byte, the lowest first. */
function varint(value: bigint): number[] {
  const low = Number(value & 0x7fn);
  return value < 0x80n ? [low] : [low | 0x80, ...varint(value >> 7n)];
}

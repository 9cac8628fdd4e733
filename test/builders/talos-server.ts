import 'reflect-metadata';
import {
  type handleUnaryCall,
  type Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
} from '@grpc/grpc-js';
import { type CertificateAndKey, createCa, issueLeaf, talosAdminProfile, toPkcs8 } from '../../pkg/pki/index.ts';
import type { Identity } from '../../pkg/talos/index.ts';
import { type StateServer, StateService } from '../../proto/generated/cosi/resource.ts';
import type { Empty } from '../../proto/generated/google/protobuf/empty.ts';
import {
  type MachineServiceServer,
  MachineServiceService,
  VersionResponse,
} from '../../proto/generated/talos/machine.ts';

/** What one machine of a test serves; all but the version answers UNIMPLEMENTED unless given. */
export interface TalosServerOptions {
  readonly machine?: Partial<MachineServiceServer>;
  readonly state?: Partial<StateServer>;
  /** Whose clients it accepts; the first one signs what it serves. Default: a new Talos CA. */
  readonly cas?: readonly CertificateAndKey[];
  /** Served instead of a leaf by the first CA. */
  readonly served?: CertificateAndKey;
  /** Default true; false is a machine in maintenance mode. */
  readonly demandsClientCertificate?: boolean;
  /** Default: a free one. */
  readonly port?: number;
}

/** A running machine of a test. */
export interface TalosServer {
  readonly address: string;
  readonly port: number;
  /** What a client needs: trust in the CAs and an admin certificate by the first. */
  readonly identity: Identity;
  /** Every call that arrived, oldest first. */
  readonly received: readonly { readonly path: string; readonly metadata: Metadata }[];
  /** Serves and accepts other CAs from the next handshake on; open connections stay, as with apid. */
  swap(cas: readonly CertificateAndKey[]): Promise<void>;
  /** Ends at once, with every connection. */
  close(): void;
}

/** A Talos CA, valid from `now`. All of them share the subject, as Talos's do. */
export function aTalosCa(now = Date.now()): Promise<CertificateAndKey> {
  return createCa('talos', { now });
}

/** A client certificate, valid now, for os:admin unless other roles are given. */
export function aClient(ca: CertificateAndKey, roles?: readonly string[]): Promise<CertificateAndKey> {
  return issueLeaf(ca, talosAdminProfile({ now: Date.now(), ...(roles && { roles }) }));
}

/** A server certificate for 127.0.0.1, valid for a day from `now`. */
export function aServerLeaf(
  ca: CertificateAndKey,
  overrides: { readonly ips?: string[]; readonly now?: number; readonly validityMs?: number } = {},
): Promise<CertificateAndKey> {
  const day = 24 * 60 * 60 * 1000;
  return issueLeaf(ca, {
    subject: { cn: 'machine' },
    usages: ['server'],
    ips: ['127.0.0.1'],
    now: Date.now(),
    validityMs: day,
    ...overrides,
  });
}

/** Starts a machine on 127.0.0.1, over grpc-js with mutual TLS. */
export async function aTalosServer(options: TalosServerOptions = {}): Promise<TalosServer> {
  const cas = options.cas ?? [await aTalosCa()];
  const signer = firstOf(cas);
  const demands = options.demandsClientCertificate ?? true;
  const served = options.served ?? (await aServerLeaf(signer));
  const credentials = ServerCredentials.createSsl(
    Buffer.from(bundleOf(cas)),
    [{ cert_chain: Buffer.from(served.certificate.pem), private_key: Buffer.from(toPkcs8(served.key).expose()) }],
    demands,
  );
  const received: { path: string; metadata: Metadata }[] = [];
  const server = new Server({
    // The limits under test are the client's.
    'grpc.max_send_message_length': -1,
    'grpc.max_receive_message_length': -1,
    interceptors: [recordInto(received)],
  });
  server.addService(MachineServiceService, { version: answerVersion, ...options.machine } as MachineServiceServer);
  server.addService(StateService, { ...options.state } as StateServer);
  const port = await bind(server, `127.0.0.1:${options.port ?? 0}`, credentials);
  return {
    address: '127.0.0.1',
    port,
    identity: { trust: cas.map((ca) => ca.certificate), credentials: await aClient(signer) },
    received,
    async swap(next) {
      const leaf = await aServerLeaf(firstOf(next));
      // Protected in the typings, and the only way to do what apid does.
      (credentials as unknown as { updateSecureContextOptions(o: object): void }).updateSecureContextOptions({
        ca: bundleOf(next),
        cert: leaf.certificate.pem,
        key: toPkcs8(leaf.key).expose(),
      });
    },
    close: () => server.forceShutdown(),
  };
}

const answerVersion: handleUnaryCall<Empty, VersionResponse> = (_call, reply) => {
  const version = { tag: 'v1.14.1', arch: 'amd64' };
  const platform = { name: 'metal', mode: 'metal' };
  reply(null, VersionResponse.fromPartial({ messages: [{ version, platform, features: { rbac: true } }] }));
};

function recordInto(received: { path: string; metadata: Metadata }[]): ServerInterceptor {
  return (method, call) =>
    new ServerInterceptingCall(call, {
      start(next) {
        const listener = new ServerListenerBuilder().withOnReceiveMetadata((metadata, pass) => {
          received.push({ path: method.path, metadata: metadata.clone() });
          pass(metadata);
        });
        next(listener.build());
      },
    });
}

function firstOf(cas: readonly CertificateAndKey[]): CertificateAndKey {
  const [first] = cas;
  if (first === undefined) throw new Error('a machine needs a CA');
  return first;
}

function bundleOf(cas: readonly CertificateAndKey[]): string {
  return cas.map((ca) => ca.certificate.pem).join('');
}

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync(address, credentials, (error, port) => (error ? reject(error) : resolve(port)));
  return promise;
}

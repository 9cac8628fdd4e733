import { type Http2Session, performServerHandshake } from 'node:http2';
import { isIP } from 'node:net';
import type { LabWorld } from '../served.ts';
import type { TlsClient } from '../tls-listener.ts';
import type { Boot } from './boot.ts';
import { asGrpcError, type Call, CODE, GrpcError, type Reply, serveCall } from './grpc.ts';
import { asReply, failedMessage, namedMessage, namedReply } from './one-to-many.ts';
import type { ApidProxy } from './proxy.ts';
import { IMPERSONATOR, mayCall, rolesOf } from './roles.ts';
import { ROUTES } from './routes.ts';

/** What an apid works with. */
export interface Apid {
  readonly lab: LabWorld;
  /** The boot of now; undefined where the machine is off. */
  boot(): Boot | undefined;
  readonly proxy: ApidProxy;
}

/** Services whose methods may go to several machines at once. */
const MANY = ['/machine.MachineService/', '/cluster.ClusterService/', '/time.TimeService/'];
const STREAMS = new Set([
  ...['Copy', 'DiskUsage', 'Dmesg', 'EtcdSnapshot', 'Events', 'ImageList', 'Kubeconfig', 'List', 'Logs'],
  ...['PacketCapture', 'Read', 'HealthCheck'],
]);

/** Serves HTTP/2 to a client that was let in; ends with the connection. */
export function serveApid(apid: Apid, { socket, certificate }: TlsClient): void {
  const session: Http2Session = performServerHandshake(socket);
  const roles = certificate === undefined ? [] : rolesOf(certificate);
  session.on('error', () => undefined);
  session.on('stream', (stream, headers) => {
    if (!('respond' in stream)) return;
    void serveCall(stream, headers, (call, request, reply) => route(apid, { call, request, reply, roles }));
  });
}

interface Incoming {
  readonly call: Call;
  readonly request: Buffer;
  readonly reply: Reply;
  /** Of the client certificate. */
  readonly roles: readonly string[];
}

/** To this machine, to another, or to several (`apid/pkg/director`). */
async function route(apid: Apid, incoming: Incoming): Promise<void> {
  const { call, roles } = incoming;
  const isProxied = call.metadata('proxyfrom').length > 0;
  const effective = roles.includes(IMPERSONATOR) ? call.metadata('talos-role') : roles;
  const asked = { ...incoming, roles: effective };
  if (isProxied) return answerHere(apid, asked);
  const [node, another] = call.metadata('node');
  const nodes = call.metadata('nodes');
  if (another !== undefined) throw new GrpcError(CODE.invalidArgument, 'node metadata must be single-valued');
  if (node !== undefined) return passOn(apid, asked, node);
  if (nodes.length === 0) return answerHere(apid, asked);
  if (!MANY.some((service) => call.path.startsWith(service))) {
    const why = `one-2-many proxying is not supported for method ${call.path}`;
    throw new GrpcError(CODE.invalidArgument, why);
  }
  return passToMany(apid, asked, nodes);
}

async function answerHere(apid: Apid, { call, request, reply, roles }: Incoming): Promise<void> {
  const boot = apid.boot();
  if (boot === undefined) throw new GrpcError(CODE.unavailable, 'the machine is going down');
  if (!mayCall(roles, call.path)) throw new GrpcError(CODE.permissionDenied, 'not authorized');
  const found = ROUTES.get(call.path);
  if (found === undefined) {
    const [, service = '', method = ''] = call.path.split('/');
    throw new GrpcError(CODE.unimplemented, `unknown method ${method} for service ${service}`);
  }
  await found.answer({ boot, roles }, call, request, reply);
}

async function passOn(apid: Apid, incoming: Incoming, node: string): Promise<void> {
  if (isWorker(apid)) {
    if (isSelf(apid, node)) return answerHere(apid, incoming);
    throw new GrpcError(CODE.permissionDenied, 'no request forwarding');
  }
  const { call, request, reply, roles } = incoming;
  for await (const message of apid.proxy.forward(addressOf(apid, node), call, request, roles))
    await reply.send(message);
}

async function passToMany(apid: Apid, incoming: Incoming, nodes: readonly string[]): Promise<void> {
  if (isWorker(apid)) {
    if (nodes.every((node) => isSelf(apid, node))) return answerHere(apid, incoming);
    throw new GrpcError(CODE.permissionDenied, 'no request forwarding');
  }
  const { call, request, reply, roles } = incoming;
  const isStream = STREAMS.has(call.path.split('/').at(-1) ?? '');
  const parts: Buffer[] = [];
  await Promise.all(
    nodes.map(async (node) => {
      try {
        for await (const message of apid.proxy.forward(addressOf(apid, node), call, request, roles)) {
          if (isStream) await reply.send(namedMessage(message, node));
          else parts.push(namedReply(message, node));
        }
      } catch (error) {
        const failed = failedMessage(node, asGrpcError(error));
        if (isStream) await reply.send(failed);
        else parts.push(asReply(failed));
      }
    }),
  );
  if (!isStream) await reply.send(Buffer.concat(parts));
}

function isWorker(apid: Apid): boolean {
  return apid.boot()?.machine.role === 'worker';
}

function isSelf(apid: Apid, node: string): boolean {
  const machine = apid.boot()?.machine;
  return machine !== undefined && (node === machine.address || node === machine.name);
}

/** An address, or that of the machine of that name: machines know each other's names. */
function addressOf({ lab }: Apid, node: string): string {
  const address = lab.world.find(node)?.address ?? node;
  if (isIP(address) !== 0) return address;
  throw new GrpcError(CODE.internal, `invalid target "${node}"`);
}

import { gzipSync } from 'node:zlib';
import { kubernetesAdminProfile } from '../../../pkg/pki/index.ts';
import { MachineServiceService } from '../../../proto/generated/talos/machine.ts';
import { planeOf } from '../../simulator/index.ts';
import { kubeconfigText } from '../credentials.ts';
import type { Boot } from './boot.ts';
import { chunksOf } from './etcd-calls.ts';
import { fileOf } from './files.ts';
import { CODE, GrpcError, type Route, streaming, unary } from './grpc.ts';
import { createQueue } from './queue.ts';
import { answering, type Session } from './session.ts';

/** Whatever a machine sends as a stream of bytes: files, kubeconfig, logs. */
export const FILE_ROUTES: readonly Route<Session>[] = [
  streaming(MachineServiceService.read, function* ({ boot }: Session, { path }) {
    const content = fileOf(boot, path);
    if (content === 'directory') throw new GrpcError(CODE.unknown, 'path must be a regular file');
    if (content === undefined) throw new GrpcError(CODE.notFound, `stat ${path}: no such file or directory`);
    yield* dataOf(content);
  }),
  streaming(MachineServiceService.kubeconfig, async function* ({ boot }: Session) {
    answering(() => planeOf(boot.machine, 'kubeconfig'));
    yield* dataOf(gzipSync(tarOf('kubeconfig', await kubeconfigOf(boot))));
  }),
  streaming(MachineServiceService.dmesg, async function* ({ boot }: Session, { follow, tail }, call) {
    const line = ({ at, text }: Boot['console'][number]): Buffer =>
      Buffer.from(`user: warning: [${new Date(at).toISOString()}]: ${text}\n`);
    let told = boot.console.length;
    if (!(follow && tail)) for (const each of boot.console) yield* dataOf(line(each));
    if (!follow) return;
    const queue = createQueue<Buffer>(call.signal);
    const stop = boot.events.follow(() => {
      for (const each of boot.console.slice(told)) queue.push(line(each));
      told = boot.console.length;
    });
    try {
      for await (const each of queue) yield* dataOf(each);
    } finally {
      stop();
    }
  }),
  streaming(MachineServiceService.logs, function* ({ boot }: Session, { id, tailLines }) {
    const lines = logOf(boot, id);
    if (lines === undefined) throw new GrpcError(CODE.notFound, `log "${id}" was not registered`);
    for (const line of tailLines > 0 ? lines.slice(-tailLines) : lines) yield* dataOf(Buffer.from(`${line}\n`));
  }),
  unary(MachineServiceService.logsContainers, ({ boot }: Session) => ({
    messages: [{ metadata: undefined, ids: boot.services.list().map(({ id }) => id) }],
  })),
];

function* dataOf(content: Buffer): Generator<{ metadata: undefined; bytes: Buffer }> {
  for (const bytes of chunksOf(content)) yield { metadata: undefined, bytes };
}

/** What machined notes about a service. */
function logOf({ services }: Boot, id: string): string[] | undefined {
  return services
    .find(id)
    ?.events.map(({ at, state, message }) => `${new Date(at).toISOString()} ${state}: ${message}`);
}

/** A new administrator's certificate in a kubeconfig, at each call. */
async function kubeconfigOf(boot: Boot): Promise<Buffer> {
  const { lab, machine } = boot;
  const ca = machine.taken.kubernetes;
  if (ca === undefined) throw new GrpcError(CODE.failedPrecondition, 'k8s API server CA config is not set');
  const profile = kubernetesAdminProfile({ now: lab.world.clock.now() });
  const { certificate, key } = await lab.certificates.issue(ca.issuing.fingerprint, profile);
  const clusterName = machine.view.clusterName ?? '';
  const server = apiServerOf(boot);
  return Buffer.from(kubeconfigText({ clusterName, server, trust: ca.accepted, certificate, key: key.expose() }));
}

/**
 * The lab's own endpoint stands for the one that the machines began with, which may
 * lead to a real cluster; one that was configured since is given as it is.
 */
function apiServerOf({ lab, machine, firstEndpoint }: Boot): string {
  const { endpoint } = machine.view;
  if (endpoint !== undefined && endpoint !== firstEndpoint) return endpoint;
  return `https://${lab.endpoint.address}:${lab.endpoint.port}`;
}

const BLOCK_BYTES = 512;

/** A tar archive of one file (POSIX ustar). */
function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, bytes: number): string => `${value.toString(8).padStart(bytes - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octal(0o600, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(content.length, 12), 124);
  header.write(octal(0, 12), 136);
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padding = Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES);
  return Buffer.concat([header, content, padding, Buffer.alloc(2 * BLOCK_BYTES)]);
}

import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { duplexPair } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { toPkcs8 } from '../../../pkg/pki/index.ts';
import { APID_PORT, BOOT_ID } from '../../../pkg/talos/index.ts';
import { MachineServiceService, RebootRequest } from '../../../proto/generated/talos/machine.ts';
import { aTalosLab, type TalosLab } from '../../../test/builders/talos-lab.ts';
import { frame } from './grpc.ts';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]();
});

/** A machine that is down as soon as its reboot has begun. */
async function aLab(): Promise<TalosLab> {
  const lab = await aTalosLab({ controlPlanes: 1, workers: 0, timing: { shutdown: [0, 0] } });
  opened.push(lab);
  return lab;
}

/** A caller of cp1 who asks for a reboot and reads nothing from then on; where he hangs up, as soon as the reply has come. */
async function askWithoutReading({ admin, bundle, machine }: TalosLab, then: 'hangs up' | 'stays'): Promise<void> {
  const { address } = machine('cp1');
  const raw = connectTcp(APID_PORT, address);
  const [inner, outer] = duplexPair();
  let isDeaf = false;
  outer.pipe(raw);
  raw.on('data', (chunk: Buffer) => {
    if (!isDeaf) outer.write(chunk);
    else if (then === 'hangs up') raw.destroy();
  });
  raw.on('error', () => undefined).on('close', () => inner.destroy());
  const socket = connectTls({
    socket: inner,
    host: address,
    ca: bundle.talos.certificate.pem,
    cert: admin.certificate.pem,
    key: toPkcs8(admin.key).expose(),
    ALPNProtocols: ['h2'],
  });
  socket.on('error', () => undefined);
  const session = connect(`https://${address}`, { createConnection: () => socket });
  session.on('error', () => undefined);
  opened.push({
    async [Symbol.asyncDispose]() {
      session.destroy();
      raw.destroy();
    },
  });
  await new Promise((resolve) => session.once('remoteSettings', resolve));
  // What comes after this answer belongs to the reply.
  await new Promise((resolve) => session.ping(resolve));
  isDeaf = true;
  sendReboot(session);
}

function sendReboot(session: ClientHttp2Session): void {
  const { path, requestSerialize } = MachineServiceService.reboot;
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  stream.on('error', () => undefined);
  stream.end(frame(requestSerialize(RebootRequest.create())));
}

const POLL = { timeout: 20_000, interval: 50 };

describe('a reboot of a machine of a lab', () => {
  it('gives who asked for it the reply, however soon the machine goes down', async () => {
    const lab = await aLab();
    const client = lab.client('cp1');
    const before = await client.bootId();

    const { actorId } = await client.reboot('DEFAULT');

    expect(actorId).toMatch(/^[0-9a-f-]{36}$/);
    await expect
      .poll(() => client.get(BOOT_ID, { fresh: true }).then((id) => id?.spec.bootId, String), POLL)
      .not.toMatch(new RegExp(`^${before}$|ECONN|unreachable|interrupted`));
  });

  it.each(['hangs up', 'stays'] as const)('happens also where who asked for it does not read, and %s', async (then) => {
    const lab = await aLab();
    const machine = lab.machine('cp1');
    const { boot } = machine;

    await askWithoutReading(lab, then);

    await expect.poll(() => machine.boot, POLL).toBe(boot + 1);
  });
});

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

/** A caller of cp1 who asks for a reboot and does not read the reply, which has come when this resolves; then he may. */
async function askWithoutReading({ admin, bundle, machine }: TalosLab) {
  const { address } = machine('cp1');
  const raw = connectTcp(APID_PORT, address);
  const [inner, outer] = duplexPair();
  const unread: Buffer[] = [];
  const replied = Promise.withResolvers<void>();
  let isDeaf = false;
  outer.pipe(raw);
  raw.on('data', (chunk: Buffer) => {
    if (!isDeaf) outer.write(chunk);
    else {
      unread.push(chunk);
      replied.resolve();
    }
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
  await replied.promise;
  return {
    hangUp: () => raw.destroy(),
    read: () => {
      isDeaf = false;
      for (const chunk of unread.splice(0)) outer.write(chunk);
    },
  };
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

  it('waits for who asked for it to read the reply', async () => {
    const lab = await aLab();
    const machine = lab.machine('cp1');
    const { boot } = machine;

    const { read } = await askWithoutReading(lab);

    // Round trips, in which it would be down by now.
    for (let trips = 0; trips < 5; trips += 1) expect((await lab.client('cp1').version()).tag).toBe('v1.14.1');
    expect(machine).toMatchObject({ boot, isRebooting: false });
    read();
    await expect.poll(() => machine.boot, POLL).toBe(boot + 1);
  });

  it('happens also where who asked for it hangs up', async () => {
    const lab = await aLab();
    const machine = lab.machine('cp1');
    const { boot } = machine;

    const { hangUp } = await askWithoutReading(lab);
    hangUp();

    await expect.poll(() => machine.boot, POLL).toBe(boot + 1);
  });

  it('happens also where who asked for it reads nothing any more', async () => {
    const lab = await aLab();
    const machine = lab.machine('cp1');
    const { boot } = machine;

    await askWithoutReading(lab);

    await expect.poll(() => machine.boot, POLL).toBe(boot + 1);
  });
});

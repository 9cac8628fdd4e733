import { ChannelCredentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { createCa, issueLeaf, parseCertificate, Secret, talosAdminProfile, toPkcs8 } from '../../pkg/pki/index.ts';
import {
  BOOT_ID,
  MACHINE_STATUS,
  OS_ROOT,
  probeTls,
  SERVICE,
  TalosError,
  type TalosMachine,
} from '../../pkg/talos/index.ts';
import { Empty } from '../../proto/generated/google/protobuf/empty.ts';
import { type HostnameResponse, MachineServiceClient } from '../../proto/generated/talos/machine.ts';
import { type CertificateResponse, SecurityServiceClient } from '../../proto/generated/talos/security.ts';
import { aSigningRequest } from '../../test/builders/signing-request.ts';
import { aTalosLab, type TalosLab, type TalosLabShape } from '../../test/builders/talos-lab.ts';
import { powerOff, powerOn, restartKubelet } from '../simulator/index.ts';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]();
});

async function aLab(shape: Partial<TalosLabShape> = {}): Promise<TalosLab> {
  const lab = await aTalosLab({ controlPlanes: 1, workers: 0, ...shape });
  opened.push(lab);
  return lab;
}

async function failureOf(promise: Promise<unknown>): Promise<TalosError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof TalosError) return error;
    throw error;
  }
  throw new Error('expected the call to fail');
}

/** grpc-js shows an address as server name, which TLS does not allow: the machine's name is in its certificate, too. */
const named = (name: string) => ({ 'grpc.ssl_target_name_override': name });

/** Hostname through an apid, with routing metadata that our own client never sends. */
function hostnameThrough(lab: TalosLab, name: string, routing: Record<string, string>): Promise<HostnameResponse> {
  const { bundle, admin } = lab;
  const pem = (text: string): Buffer => Buffer.from(text);
  const credentials = ChannelCredentials.createSsl(
    pem(bundle.talos.certificate.pem),
    pem(toPkcs8(admin.key).expose()),
    pem(admin.certificate.pem),
  );
  const client = new MachineServiceClient(`${lab.machine(name).address}:50000`, credentials, named(name));
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(routing)) metadata.set(key, value);
  return new Promise<HostnameResponse>((resolve, reject) => {
    client.hostname(Empty.create(), metadata, (error: ServiceError | null, reply) =>
      error === null ? resolve(reply) : reject(error),
    );
  }).finally(() => client.close());
}

describe('the Talos API of a lab', () => {
  it('tells version, configuration, status and CAs', async () => {
    const lab = await aLab();
    const client = lab.client('cp1');

    expect(await client.version()).toMatchObject({ tag: 'v1.14.1', rbac: true });
    expect((await client.configuration('active')).config.expose()).toBe(lab.machine('cp1').config);
    expect((await client.get(MACHINE_STATUS))?.spec).toEqual({ stage: 'running', ready: true, unmet: [] });
    expect((await client.get(OS_ROOT))?.spec.issuing?.keyFingerprint).toBe(
      lab.bundle.talos.certificate.publicKeyFingerprint,
    );
  });

  it('takes a CA of somebody else out of a configuration, and lets its clients in', async () => {
    const lab = await aLab();
    const client = lab.client('cp1');
    const foreign = await createCa('talos', { now: Date.now() });
    const credentials = await issueLeaf(foreign, talosAdminProfile({ now: Date.now() }));
    const stranger = lab.client('cp1', { credentials });
    expect(await failureOf(stranger.version())).toMatchObject({ kind: 'untrusted-client', outcome: 'not-done' });

    await acceptCa(client, foreign.certificate.pem);

    await expect.poll(() => stranger.version({ fresh: true }).then(() => 'in', String), POLL).toBe('in');
  });

  it('keeps a connection whose CA was dropped, and refuses the next one', async () => {
    const lab = await aLab();
    const client = lab.client('cp1');
    await client.version();

    lab.machine('cp1').api = { ...lab.machine('cp1').api, accepted: [] };
    lab.lab.changed();

    expect((await client.version()).rbac).toBe(true);
    expect(await failureOf(client.version({ fresh: true }))).toMatchObject({ kind: 'untrusted-client' });
  });

  it('watches a service that goes and comes', async () => {
    const lab = await aLab();
    const seen: string[] = [];

    for await (const event of lab.client('cp1').watch(SERVICE, { id: 'kubelet' })) {
      if (seen.length === 0) {
        restartKubelet(lab.lab.world, lab.machine('cp1'));
        lab.lab.changed();
      }
      seen.push(event.type);
      if (event.type === 'updated' && event.resource.spec.healthy === true) break;
    }

    expect(seen).toEqual(['created', 'destroyed', 'created', 'updated']);
  });

  it('tells a reboot by events of its actor, hangs up, and comes back in another boot', async () => {
    const lab = await aLab();
    const client = lab.client('cp1');
    const before = await client.bootId();
    const told: string[] = [];
    const listening = (async () => {
      for await (const event of client.events()) told.push(`${event.type} ${event.actorId}`);
    })().catch((error: unknown) => (error instanceof TalosError ? error.kind : error));
    await expect.poll(() => client.version().then(() => 'up'), POLL).toBe('up');

    const { actorId } = await client.reboot('DEFAULT');

    expect(await listening).toBe('interrupted');
    expect(told).toContain(`sequence ${actorId}`);
    expect(told).toContain(`task ${actorId}`);
    await expect
      .poll(() => client.get(BOOT_ID, { fresh: true }).then((id) => id?.spec.bootId, String), POLL)
      .not.toMatch(new RegExp(`^${before}$|ECONN|unreachable|interrupted`));
    expect((await client.configuration('active')).version).toBe(1n);
  });

  it('closes every port of a machine without power', async () => {
    const lab = await aLab();
    const { address } = lab.machine('cp1');
    const verdict = async (port: number) =>
      (await probeTls({ host: address, port, trust: [lab.bundle.talos.certificate], credentials: lab.admin })).verdict;
    expect(await Promise.all([50_000, 50_001].map(verdict))).toEqual(['accepted', 'accepted']);

    powerOff(lab.lab.world, lab.machine('cp1'), undefined);
    lab.lab.changed();

    expect(await Promise.all([50_000, 50_001, 2_379, 2_380].map(verdict))).toEqual(Array(4).fill('unreachable'));
    powerOn(lab.lab.world, lab.machine('cp1'));
    lab.lab.changed();
    expect(await verdict(50_000)).toBe('accepted');
  });

  it('answers nobody while it is cut off: calls run into their deadline, and work after it', async () => {
    const lab = await aLab();
    const client = lab.client('cp1');
    await client.version();

    lab.machine('cp1').isCutOff = true;
    lab.lab.changed();

    expect(await failureOf(client.version({ deadlineMs: 300 }))).toMatchObject({ kind: 'timeout' });
    expect(await failureOf(client.version({ fresh: true, deadlineMs: 300 }))).toMatchObject({ outcome: 'not-done' });
    lab.machine('cp1').isCutOff = false;
    lab.lab.changed();
    expect((await client.version({ fresh: true })).rbac).toBe(true);
  });

  it('signs for workers through trustd, for who has the token', async () => {
    const lab = await aLab();
    const { bundle } = lab;

    const leaf = await askTrustd(lab, bundle.trustdToken.expose());

    expect(lab.lab.certificates.issuerOf(parseCertificate(leaf))).toBe(bundle.talos.certificate.fingerprint);
    await expect(askTrustd(lab, 'wrongg.0123456789abcdef')).rejects.toMatchObject({ code: 16 });
  });

  describe('routing', () => {
    it('passes a call on to one machine, by address or name, over mutual TLS', async () => {
      const lab = await aLab({ workers: 1 });

      for (const node of [lab.machine('w1').address, 'w1']) {
        expect((await hostnameThrough(lab, 'cp1', { node })).messages).toEqual([{ hostname: 'w1' }]);
      }
    });

    it('asks several machines, and tells the one that does not answer', async () => {
      const lab = await aLab({ workers: 1 });
      const [plane, worker] = [lab.machine('cp1').address, lab.machine('w1').address];
      powerOff(lab.lab.world, lab.machine('w1'), undefined);
      lab.lab.changed();

      const { messages } = await hostnameThrough(lab, 'cp1', { nodes: `${plane},${worker}` });

      const byName = Object.fromEntries(
        messages.map(({ metadata, ...rest }) => [metadata?.hostname, { ...rest, error: metadata?.error }]),
      );
      expect(byName[plane]).toEqual({ hostname: 'cp1', error: '' });
      expect(byName[worker]?.error).toMatch(/code = Unavailable .*connection refused/);
    });

    it('of a worker goes nowhere but to itself', async () => {
      const lab = await aLab({ workers: 1 });

      expect((await hostnameThrough(lab, 'w1', { node: lab.machine('w1').address })).messages).toHaveLength(1);
      await expect(hostnameThrough(lab, 'w1', { node: lab.machine('cp1').address })).rejects.toMatchObject({
        code: 7,
        details: 'no request forwarding',
      });
    });

    it('fails where the two machines do not trust each other, as in the middle of a rotation', async () => {
      const lab = await aLab({ workers: 1 });
      lab.machine('w1').api = { ...lab.machine('w1').api, accepted: [] };
      lab.lab.changed();

      await expect(hostnameThrough(lab, 'cp1', { node: lab.machine('w1').address })).rejects.toMatchObject({
        code: 14,
        details: expect.stringContaining('tls: unknown certificate authority'),
      });
    });
  });
});

async function askTrustd(lab: TalosLab, token: string): Promise<string> {
  const trust = ChannelCredentials.createSsl(Buffer.from(lab.bundle.talos.certificate.pem));
  const client = new SecurityServiceClient(`${lab.machine('cp1').address}:50001`, trust, named('cp1'));
  const metadata = new Metadata();
  metadata.set('token', token);
  const csr = Buffer.from(await aSigningRequest());
  return new Promise<string>((resolve, reject) => {
    client.certificate({ csr }, metadata, (error: ServiceError | null, answer?: CertificateResponse) =>
      error === null ? resolve(String(answer?.crt)) : reject(error),
    );
  }).finally(() => client.close());
}

const POLL = { timeout: 15_000, interval: 100 };

async function acceptCa(client: TalosMachine, pem: string): Promise<void> {
  const { config } = await client.configuration('active');
  const crt = Buffer.from(pem).toString('base64');
  const edited = config.expose().replace('machine:\n', `machine:\n    acceptedCAs:\n        - crt: ${crt}\n`);
  await client.apply({ config: Secret.of('machine-config', edited), mode: 'NO_REBOOT' });
}

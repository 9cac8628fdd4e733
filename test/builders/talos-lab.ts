import { createCertificates } from '../../internal/lab/certificates.ts';
import { createIssuer } from '../../internal/lab/issuer.ts';
import { createRealClock } from '../../internal/lab/real-clock.ts';
import type { LabWorld, Served } from '../../internal/lab/served.ts';
import { serveTalos } from '../../internal/lab/talos-server.ts';
import { labTiming } from '../../internal/lab/timing.ts';
import { foundWorld, type SimMachine, type Timing, writeConfiguration } from '../../internal/simulator/index.ts';
import type { SecretsBundle } from '../../pkg/bundle/index.ts';
import { createSystemClock } from '../../pkg/clock/index.ts';
import { type CertificateAndKey, issueLeaf, talosAdminProfile } from '../../pkg/pki/index.ts';
import { createTalosMachine, type TalosMachine } from '../../pkg/talos/index.ts';
import { aBundleDocument } from './bundle.ts';

/** The Talos API of a lab's machines, without Kubernetes. */
export interface TalosLab extends AsyncDisposable {
  readonly lab: LabWorld;
  readonly bundle: SecretsBundle;
  readonly admin: CertificateAndKey;
  /** What machines and servers said. */
  readonly log: readonly string[];
  machine(name: string): SimMachine;
  /** A client of a machine, an administrator's unless told otherwise; closed with the lab. */
  client(name: string, identity?: { readonly credentials?: CertificateAndKey }): TalosMachine;
}

/** How big, and what of it takes another time than a tenth of what was measured. */
export interface TalosLabShape {
  readonly controlPlanes: number;
  readonly workers: number;
  readonly timing?: Partial<Timing>;
  readonly shape?: 'typed' | 'legacy';
}

/** Loopback addresses of this process: several runs on one host must not meet. */
const PREFIX = `127.${128 + ((process.pid >> 8) & 0x7f)}.${process.pid & 0xff}`;

/** A tenth of what a boot was measured to take. */
const BOOT_SECONDS = 1.3;

/** Starts it; everything takes a tenth of what was measured on real parts. */
export async function aTalosLab(shape: TalosLabShape): Promise<TalosLab> {
  const { bundle } = await aBundleDocument();
  const clock = createRealClock(createSystemClock());
  const certificates = createCertificates({ now: () => clock.now() });
  const issuer = createIssuer(certificates);
  const placements = placementsOf(shape, bundle);
  for (const placement of placements) await issuer.learn(placement, placement.config);
  const world = foundWorld({
    seed: 1,
    clock,
    mint: issuer,
    bundle,
    placements,
    version: '1.14.1',
    timing: { ...labTiming(BOOT_SECONDS), ...shape.timing },
    onTrace: () => undefined,
  });
  const log: string[] = [];
  const served = new Map<SimMachine, Served>();
  const follow = (): void => {
    for (const machine of world.machines()) {
      const known = served.get(machine) ?? serveTalos(lab, machine);
      served.set(machine, known);
      known.sync();
    }
  };
  const lab: LabWorld = {
    world,
    certificates,
    endpoint: { address: `${PREFIX}.10`, port: 6443 },
    log: (machine, line) => log.push(`${machine}: ${line}`),
    changed: follow,
  };
  clock.onEvent = follow;
  follow();
  const admin = await issueLeaf(bundle.talos, talosAdminProfile({ now: Date.now() }));
  const clients: TalosMachine[] = [];
  const machine = (name: string): SimMachine => {
    const found = world.find(name);
    if (found === undefined) throw new Error(`there is no machine ${name}`);
    return found;
  };
  return {
    lab,
    bundle,
    admin,
    log,
    machine,
    client(name, { credentials = admin } = {}) {
      const { address } = machine(name);
      const client = createTalosMachine({ name, address, trust: [bundle.talos.certificate], credentials });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      clock.stop();
      clock.onEvent = undefined;
      await Promise.all([...served.values()].map((each) => each.close()));
    },
  };
}

function placementsOf({ controlPlanes, workers, shape = 'typed' }: TalosLabShape, bundle: SecretsBundle) {
  return (['controlplane', 'worker'] as const).flatMap((role) =>
    Array.from({ length: role === 'controlplane' ? controlPlanes : workers }, (_, index) => {
      const name = `${role === 'controlplane' ? 'cp' : 'w'}${index + 1}`;
      const endpoint = `https://${PREFIX}.10:6443`;
      const config = writeConfiguration({ role, shape, bundle, hostname: name, endpoint });
      const address = `${PREFIX}.${(role === 'controlplane' ? 11 : 31) + index}`;
      return { name, role, address, config };
    }),
  );
}

import type { CaTarget } from '../../api/v1alpha1/index.ts';
import { createCertificates } from '../../internal/lab/certificates.ts';
import { createIssuer } from '../../internal/lab/issuer.ts';
import { serveKubernetes } from '../../internal/lab/kube-server.ts';
import { untilListening } from '../../internal/lab/listening.ts';
import { createRealClock } from '../../internal/lab/real-clock.ts';
import type { LabWorld, Served } from '../../internal/lab/served.ts';
import { labTiming } from '../../internal/lab/timing.ts';
import {
  foundWorld,
  type Placement,
  type SimMachine,
  storeConfiguration,
  type Timing,
  writeConfiguration,
} from '../../internal/simulator/index.ts';
import type { SecretsBundle } from '../../pkg/bundle/index.ts';
import { createSystemClock } from '../../pkg/clock/index.ts';
import { createKubeClient, type KubeClient } from '../../pkg/kube/index.ts';
import { type RenderStage, renderStage } from '../../pkg/machineconfig/index.ts';
import { type Certificate, type CertificateAndKey, issueLeaf, kubernetesAdminProfile } from '../../pkg/pki/index.ts';
import { aBundleDocument } from './bundle.ts';

/** The Kubernetes side of a lab's machines, over real sockets. */
export interface KubeLab extends AsyncDisposable {
  readonly lab: LabWorld;
  readonly bundle: SecretsBundle;
  /** A member of `system:masters`, by the CA that the cluster was born with. */
  readonly admin: CertificateAndKey;
  machine(name: string): SimMachine;
  /** A client of the API server of a machine; closed with the lab. */
  client(name: string, as?: KubeLabClient): KubeClient;
  /** Has every machine take a stage of a rotation up, and waits until it has. */
  rotate(target: CaTarget, next: CertificateAndKey, stage: RenderStage): Promise<void>;
  /** Resolves when something is true; it is asked after every event. Rejects after ten seconds. */
  until(isTrue: () => boolean): Promise<void>;
}

/** Who calls, and whom he trusts. */
export interface KubeLabClient {
  readonly credentials?: CertificateAndKey;
  readonly trust?: readonly Certificate[];
}

const PATIENCE_MS = 10_000;

/** Starts it: everything in a tenth of what was measured on real parts. `block` keeps labs of one process apart. */
export async function aKubeLab(shape: {
  readonly block: number;
  readonly controlPlanes: number;
  readonly workers: number;
  /** What takes another time than a tenth of what was measured. */
  readonly timing?: Partial<Timing>;
}): Promise<KubeLab> {
  const { bundle } = await aBundleDocument();
  const clock = createRealClock(createSystemClock());
  const certificates = createCertificates({ now: () => clock.now() });
  const issuer = createIssuer(certificates);
  const placements = placementsOf(shape, bundle);
  for (const placement of placements) await issuer.learn(placement, placement.config);
  const timing = { ...labTiming(1.3), ...shape.timing };
  const world = foundWorld({
    seed: 1,
    clock,
    mint: issuer,
    bundle,
    placements,
    version: '1.14.1',
    timing,
    onTrace: () => undefined,
  });
  const served = new Map<SimMachine, Served>();
  const watchers = new Set<() => void>();
  const follow = (): void => {
    for (const machine of world.machines()) {
      const known = served.get(machine) ?? serveKubernetes(lab, machine);
      served.set(machine, known);
      known.sync();
    }
    for (const watcher of [...watchers]) watcher();
  };
  const endpoint = { address: `${prefixOf(shape.block)}.10`, port: 6443 };
  const lab: LabWorld = { world, certificates, endpoint, log: () => undefined, changed: follow };
  clock.onEvent = follow;
  follow();
  const ports = placements.flatMap(({ role, address }) =>
    (role === 'controlplane' ? [6443, 10_250] : [10_250]).map((port) => untilListening(address, port)),
  );
  await Promise.all(ports);
  const admin = await issueLeaf(bundle.kubernetes, kubernetesAdminProfile({ now: clock.now() }));
  const clients: KubeClient[] = [];
  const machine = (name: string): SimMachine => {
    const found = world.find(name);
    if (found === undefined) throw new Error(`there is no machine ${name}`);
    return found;
  };
  const until = (isTrue: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        watchers.delete(look);
        reject(new Error(`not within ${PATIENCE_MS} ms: ${isTrue}`));
      }, PATIENCE_MS);
      function look(): void {
        if (!isTrue()) return;
        watchers.delete(look);
        clearTimeout(timer);
        resolve();
      }
      watchers.add(look);
      look();
    });
  return {
    lab,
    bundle,
    admin,
    machine,
    until,
    client(name, { credentials = admin, trust = [bundle.kubernetes.certificate] } = {}) {
      const { certificate, key } = credentials;
      const server = `https://${machine(name).address}:6443`;
      const client = createKubeClient({ server, trust, credentials: { kind: 'certificate', certificate, key } });
      clients.push(client);
      return client;
    },
    async rotate(target, next, stage) {
      const old = target === 'kubernetes-aggregator' ? bundle.aggregator : bundle[target];
      for (const each of world.machines()) {
        const before = each.taken;
        const config = renderStage(each.config, [{ target, old, new: next }], stage, { talosVersion: '1.14.1' });
        storeConfiguration(world, each, config, { staged: false });
        await until(() => each.taken !== before);
      }
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      clock.stop();
      clock.onEvent = undefined;
      await Promise.all([...served.values()].map((each) => each.close()));
    },
  };
}

/** Two runs at a time on one host are kept apart by their processes. */
const prefixOf = (block: number): string => `127.${90 + (process.pid % 160)}.${block}`;

function placementsOf(
  { block, controlPlanes, workers }: Parameters<typeof aKubeLab>[0],
  bundle: SecretsBundle,
): Placement[] {
  return (['controlplane', 'worker'] as const).flatMap((role) =>
    Array.from({ length: role === 'controlplane' ? controlPlanes : workers }, (_, index) => {
      const name = `${role === 'controlplane' ? 'cp' : 'w'}${index + 1}`;
      const endpoint = `https://${prefixOf(block)}.10:6443`;
      const config = writeConfiguration({ role, shape: 'typed', bundle, hostname: name, endpoint });
      return { name, role, config, address: `${prefixOf(block)}.${(role === 'controlplane' ? 11 : 31) + index}` };
    }),
  );
}

import type { CaTarget, TalosOperation } from '../../api/v1alpha1/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';
import { listNodes } from '../../pkg/kube/index.ts';
import { readMachineConfig } from '../../pkg/machineconfig/index.ts';
import type { Certificate } from '../../pkg/pki/index.ts';
import { addressOfEndpoint } from '../../pkg/talos/index.ts';
import {
  type Connections,
  createIdentities,
  createMemory,
  createSession,
  type EngineStore,
  kubeletsSignedBy,
  type ListedMachine,
  type Located,
  listMachines,
  observe,
  type Session,
  type UnreachableEndpoint,
  unreachableEndpoints,
} from '../controller/index.ts';
import type { Observation } from '../rotation/observation.ts';
import { CliError } from './cli-error.ts';
import type { KubeconfigText } from './handoff/kubeconfig-text.ts';

/** Looks at a cluster without an engine: for the plan, the status and the hand-off. Only reads. */
export interface ClusterView extends Disposable {
  readonly session: Session;
  /** The control planes as Kubernetes lists them now. Errors: those of the call that failed last. */
  controlPlanes(): Promise<readonly ListedMachine[]>;
  machines(): Promise<readonly ListedMachine[]>;
  /** The name in the configuration of the first control plane that answers. */
  clusterName(): Promise<string>;
  /** The Talos CA in the bundle. */
  talosCa(): Promise<Certificate>;
  /** An admin kubeconfig, issued by the first of these control planes that answers. */
  issueKubeconfig(planes: readonly ListedMachine[]): Promise<KubeconfigText>;
  /** Where old credentials could not be tried from this host, with why; for the plan. */
  unreachableEndpoints(
    machines: readonly Located[],
    targets: readonly CaTarget[],
  ): Promise<readonly UnreachableEndpoint[]>;
  /** Those of these machines whose kubelet serves a certificate of the Kubernetes CA in the bundle; for the plan. */
  kubeletsOfCa(machines: readonly Pick<ListedMachine, 'name' | 'address'>[]): Promise<readonly string[]>;
  /** The picture on which the engine would decide about this operation, which need not be stored. */
  observe(operation: TalosOperation): Promise<Observation>;
}

/** What a view is made from. */
export interface ViewOptions {
  readonly store: EngineStore;
  readonly connections: Connections;
  readonly clock: Clock;
  /** Where to ask instead of the endpoints of the talosconfig; with the port of the Talos API or without it. */
  readonly endpoints?: readonly string[] | undefined;
}

/** How often the machines are listed when an API server fails, and answers right after. */
const LISTINGS = 3;

/** Opens nothing before the first question. */
export function createClusterView({ store, connections, clock, endpoints: given }: ViewOptions): ClusterView {
  const ports = { store, connections, clock };
  const session = createSession(ports);
  const identities = createIdentities(clock);
  const memory = createMemory(ports.clock);

  async function machines(): Promise<readonly ListedMachine[]> {
    session.use(await identities.talos(await store.readState(), false));
    const endpoints = given?.map(addressOfEndpoint) ?? (await store.endpoints());
    const [address] = endpoints;
    if (address === undefined) {
      throw new CliError(
        'directory',
        'the talosconfig names no endpoint, so no machine is known',
        'Add the addresses of the control planes: talosctl config endpoint.',
      );
    }
    for (let attempt = 1; ; attempt += 1) {
      const list = await listMachines(session, memory.machines, endpoints);
      memory.machines = list.machines;
      if (list.machines.length > 0) return list.machines;
      // Asked once more for the error itself: callers decide on its kind whether to wait.
      await session.kube({ name: address, address }, (client) => listNodes(client));
      // It answers now.
      if (attempt === LISTINGS) throw new CliError('unreachable', list.incomplete ?? 'Kubernetes lists no Node');
    }
  }

  async function controlPlanes(): Promise<readonly ListedMachine[]> {
    return (await machines()).filter((machine) => machine.role === 'controlplane');
  }

  return {
    session,
    machines,
    controlPlanes,
    async clusterName() {
      const config = await firstAnswer(await controlPlanes(), (machine) =>
        session.talos(machine, async (client) => (await client.configuration('active')).config.expose()),
      );
      const { clusterName } = readMachineConfig(config, 'the configuration of a control plane');
      return clusterName ?? 'cluster';
    },
    talosCa: async () => (await store.readState()).bundle.talos.certificate,
    issueKubeconfig: (planes) =>
      firstAnswer(planes, (machine) => session.talos(machine, (client) => client.kubeconfig())),
    unreachableEndpoints: (machines, targets) => unreachableEndpoints({ connections, machines, targets }),
    async kubeletsOfCa(machines) {
      const { bundle } = await store.readState();
      return kubeletsSignedBy(bundle.kubernetes.certificate, { connections, machines });
    },
    async observe(operation) {
      return (await observe({ ports, session, identities, memory, operation })).observation;
    },
    [Symbol.dispose]: () => session.close(),
  };
}

/** Asks one machine after the other; throws what the last one said where none answers. */
export async function firstAnswer<Machine, T>(
  machines: readonly Machine[],
  ask: (machine: Machine) => Promise<T>,
): Promise<T> {
  let last: unknown = new CliError('unreachable', 'the cluster has no control plane that could be asked');
  for (const machine of machines) {
    try {
      return await ask(machine);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

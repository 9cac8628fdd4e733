import { fromKubeconfig, isKubeError, type KubeClient, KubeError } from '../../pkg/kube/index.ts';
import { readApiServerPort } from '../../pkg/machineconfig/index.ts';
import { type Identity, isTalosError, type TalosMachine } from '../../pkg/talos/index.ts';
import type { Ports } from './ports.ts';

/** Where a machine is. */
export interface MachineRef {
  readonly name: string;
  readonly address: string;
}

/**
 * The open connections of one run. Every machine has one Talos client, whose
 * identity is swapped when the machine refuses it, and every control plane one
 * Kubernetes client with a kubeconfig that the machine itself issued.
 */
export interface Session {
  /** Runs `work` with the first identity that the machine accepts, in the order set by `use`. */
  talos<T>(machine: MachineRef, work: (client: TalosMachine) => Promise<T>): Promise<T>;
  /**
   * Runs `work` against the API server on this control plane; a refused kubeconfig is fetched anew, once. A server
   * that answered with Retry-After (429 under load, 503 while it starts or stops) is not asked before that time.
   */
  kube<T>(machine: MachineRef, work: (client: KubeClient) => Promise<T>): Promise<T>;
  /**
   * Says where the API server of a machine listens, as its configuration has it now: it is reached there from now on.
   * Where nobody has said it yet, `kube` reads it from the machine.
   */
  listensOn(machine: MachineRef, port: number): void;
  /** The identities to try, in order; clients change to them with their next call. */
  use(identities: readonly Identity[]): void;
  /** Forgets everything about a machine, as after a reboot. */
  forget(machine: MachineRef): void;
  /** What held the pods of the last drain, by `namespace/name`. */
  readonly drainHeld: Map<string, string>;
  close(): void;
}

interface TalosEntry {
  readonly client: TalosMachine;
  identity: Identity;
}

/** An API server that asked not to be asked for a while, and its answer. */
interface Patience {
  /** On the monotonic clock. */
  readonly until: number;
  readonly answer: KubeError;
}

/** Longest time for which an API server is left alone because it asked for it: what is in the way must be looked at again. */
const LONGEST_PATIENCE_MS = 30_000;

/** Reads what machines hand out. */
export interface Readers {
  readonly kubeconfig: typeof fromKubeconfig;
  /** Where a machine's configuration lets kube-apiserver listen. */
  readonly apiServerPort: typeof readApiServerPort;
}

const READERS: Readers = { kubeconfig: fromKubeconfig, apiServerPort: readApiServerPort };

/** Opens nothing before the first call. */
export function createSession(ports: Pick<Ports, 'connections' | 'clock'>, readers: Readers = READERS): Session {
  const machines = new Map<string, TalosEntry>();
  const servers = new Map<string, KubeClient>();
  const listening = new Map<string, number>();
  const patience = new Map<string, Patience>();
  const drainHeld = new Map<string, string>();
  let identities: readonly Identity[] = [];

  function entryOf(machine: MachineRef): TalosEntry {
    const [identity] = identities;
    if (identity === undefined) throw new Error('the session was given no identity');
    const known = machines.get(machine.address);
    if (known !== undefined && known.client.name === machine.name) {
      // An identity that was withdrawn (renewed, or its CA is gone) is replaced.
      if (!identities.includes(known.identity)) swap(known, identity);
      return known;
    }
    // A machine that was only an address has a name now.
    known?.client.close();
    const entry = { client: ports.connections.talos({ ...machine, ...identity }), identity };
    machines.set(machine.address, entry);
    return entry;
  }

  async function talos<T>(machine: MachineRef, work: (client: TalosMachine) => Promise<T>): Promise<T> {
    const entry = entryOf(machine);
    const others = identities.filter((identity) => identity !== entry.identity);
    for (;;) {
      try {
        return await work(entry.client);
      } catch (error) {
        const next = isTalosError(error, 'untrusted-client') ? others.shift() : undefined;
        if (isTalosError(error, 'unreachable', 'timeout', 'interrupted')) entry.client.reconnect();
        if (next === undefined) throw error;
        swap(entry, next);
      }
    }
  }

  async function openKube(machine: MachineRef): Promise<KubeClient> {
    const known = servers.get(machine.address);
    if (known !== undefined) return known;
    const text = await talos(machine, (client) => client.kubeconfig());
    const port = listening.get(machine.address) ?? (await readPort(machine));
    const options = await readers.kubeconfig(text.expose(), {
      server: `https://${hostOf(machine.address)}:${port}`,
      where: `the kubeconfig of ${machine.name}`,
    });
    const client = ports.connections.kube({ ...options, clock: ports.clock });
    servers.set(machine.address, client);
    return client;
  }

  async function readPort(machine: MachineRef): Promise<number> {
    const { config } = await talos(machine, (client) => client.configuration('active'));
    const port = readers.apiServerPort(config.expose(), `the configuration of ${machine.name}`);
    listening.set(machine.address, port);
    return port;
  }

  function closeKube(machine: MachineRef): void {
    servers.get(machine.address)?.close();
    servers.delete(machine.address);
  }

  /** Throws while the API server has asked for patience: other servers are asked meanwhile. */
  function refuseTooSoon({ address }: MachineRef): void {
    const asked = patience.get(address);
    if (asked === undefined) return;
    const leftMs = asked.until - ports.clock.monotonic();
    if (leftMs <= 0) {
      patience.delete(address);
      return;
    }
    const { kind, server, status, reason, found } = asked.answer;
    throw new KubeError({
      ...{ kind, server, status, reason, outcome: 'not-done' },
      doing: 'ask again so soon',
      found: `${found}; it asked for ${Math.ceil(leftMs / 1_000)} s more of patience`,
    });
  }

  function remember({ address }: MachineRef, error: unknown): void {
    if (!isKubeError(error) || error.retryAfterMs === undefined) return;
    const waitMs = Math.min(error.retryAfterMs, LONGEST_PATIENCE_MS);
    patience.set(address, { until: ports.clock.monotonic() + waitMs, answer: error });
  }

  return {
    talos,
    async kube(machine, work) {
      refuseTooSoon(machine);
      const isFresh = !servers.has(machine.address);
      try {
        return await work(await openKube(machine));
      } catch (error) {
        remember(machine, error);
        if (!isKubeError(error, 'untrusted-server', 'untrusted-client', 'unauthorized')) throw error;
        closeKube(machine);
        // A kubeconfig that was issued this moment and is refused is an answer, not a stale one.
        if (isFresh) throw error;
        return work(await openKube(machine));
      }
    },
    listensOn(machine, port) {
      if (listening.get(machine.address) === port) return;
      closeKube(machine);
      listening.set(machine.address, port);
    },
    use(next) {
      identities = next;
    },
    forget(machine) {
      closeKube(machine);
      patience.delete(machine.address);
      machines.get(machine.address)?.client.reconnect();
    },
    drainHeld,
    close() {
      for (const { client } of machines.values()) client.close();
      for (const client of servers.values()) client.close();
    },
  };
}

function swap(entry: TalosEntry, identity: Identity): void {
  entry.client.use(identity);
  entry.identity = identity;
}

function hostOf(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

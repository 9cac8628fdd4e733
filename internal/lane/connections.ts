import { join } from 'node:path';
import type { Clock } from '../../pkg/clock/index.ts';
import { createKubeClient, fromKubeconfig, isKubeError, type KubeClient } from '../../pkg/kube/index.ts';
import { readApiServerPort } from '../../pkg/machineconfig/index.ts';
import {
  createTalosMachine,
  type Identity,
  isTalosError,
  readTalosconfigFile,
  selectContext,
  type TalosMachine,
} from '../../pkg/talos/index.ts';

/** Where a machine is. */
export interface Place {
  readonly name: string;
  readonly address: string;
}

/**
 * Connections that follow a rotation: credentials come from the talosconfig of the
 * directory as it is now, and an API server's from the machine that it runs on.
 * Whoever refuses them is asked once more with what stands there then.
 */
export interface Connections extends Disposable {
  talos<T>(machine: Place, work: (client: TalosMachine) => Promise<T>): Promise<T>;
  kube<T>(machine: Place, work: (client: KubeClient) => Promise<T>): Promise<T>;
}

/** The context of a cluster directory: where to ask first, and with what. */
export async function contextOf(directory: string): Promise<{ endpoints: readonly string[]; identity: Identity }> {
  const path = join(directory, 'talosconfig');
  const context = selectContext(await readTalosconfigFile(path), path, undefined);
  return { endpoints: context.endpoints, identity: context };
}

/** Opens nothing before the first call. */
export function createConnections(directory: string, clock: Clock): Connections {
  const machines = new Map<string, TalosMachine>();
  const servers = new Map<string, KubeClient>();

  async function talosOf({ name, address }: Place): Promise<TalosMachine> {
    const known = machines.get(address);
    if (known !== undefined) return known;
    const client = createTalosMachine({ name, address, ...(await contextOf(directory)).identity });
    machines.set(address, client);
    return client;
  }

  async function talos<T>(machine: Place, work: (client: TalosMachine) => Promise<T>): Promise<T> {
    const client = await talosOf(machine);
    try {
      return await work(client);
    } catch (error) {
      if (isTalosError(error, 'unreachable', 'timeout', 'interrupted')) client.reconnect();
      if (!isTalosError(error, 'untrusted-server', 'untrusted-client')) throw error;
      client.use((await contextOf(directory)).identity);
      return work(client);
    }
  }

  async function kubeOf(machine: Place): Promise<KubeClient> {
    const known = servers.get(machine.address);
    if (known !== undefined) return known;
    const [text, { config }] = await talos(machine, (client) =>
      Promise.all([client.kubeconfig(), client.configuration('active')]),
    );
    const host = machine.address.includes(':') ? `[${machine.address}]` : machine.address;
    const port = readApiServerPort(config.expose(), `the configuration of ${machine.name}`);
    const options = await fromKubeconfig(text.expose(), {
      server: `https://${host}:${port}`,
      where: `the kubeconfig of ${machine.name}`,
    });
    const client = createKubeClient({ ...options, clock });
    servers.set(machine.address, client);
    return client;
  }

  return {
    talos,
    async kube(machine, work) {
      const client = await kubeOf(machine);
      try {
        return await work(client);
      } catch (error) {
        if (!isKubeError(error, 'untrusted-server', 'untrusted-client', 'unauthorized')) throw error;
        client.close();
        servers.delete(machine.address);
        return work(await kubeOf(machine));
      }
    },
    [Symbol.dispose]() {
      for (const client of machines.values()) client.close();
      for (const client of servers.values()) client.close();
    },
  };
}

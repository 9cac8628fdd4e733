import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { output, run } from '../../support/run.ts';

// One bridge per cluster, without a way out; one network namespace per machine.
//   gateway    10.77.INDEX.1      image registry, discovery service, load balancer
//   machine N  10.77.INDEX.10+N

const PREFIX = '10.77';
const NETWORKS = 10;

/** Ports of the servers on a cluster's gateway address. */
export const PORTS = { registry: 5000, discovery: 3000, kubernetes: 6443 } as const;

/** A cluster's network: its name says whose it is, its index where. */
export interface ClusterNetwork {
  readonly cluster: string;
  readonly index: number;
}

export function gatewayOf({ index }: ClusterNetwork): string {
  return `${PREFIX}.${index}.1`;
}

/** The address of a machine by its number, counted from 1 over control planes and workers. */
export function addressOf({ index }: ClusterNetwork, number: number): string {
  return `${PREFIX}.${index}.${10 + number}`;
}

/** The network namespace of a machine, as a path. */
export function namespaceOf({ cluster }: ClusterNetwork, machine: string): string {
  return `/run/netns/${namespaceName(cluster, machine)}`;
}

function namespaceName(cluster: string, machine: string): string {
  return `ichor-${cluster}-${machine}`;
}

function bridgeOf({ index }: ClusterNetwork): string {
  return `ichor${index}`;
}

function vethOf(network: ClusterNetwork, number: number): string {
  return `${bridgeOf(network)}v${number}`;
}

/** An index whose bridge does not exist and whose network no interface is in; throws one line if there is none. */
export async function freeIndex(): Promise<number> {
  for (let index = 0; index < NETWORKS; index += 1) {
    if (existsSync(`/sys/class/net/ichor${index}`)) continue;
    const used = await output('ip', ['-4', '-o', 'addr', 'show', 'to', `${PREFIX}.${index}.0/24`]);
    if (used === '') return index;
  }
  throw new Error(
    `all networks ${PREFIX}.0-${NETWORKS - 1}.0/24 and bridges ichor0-${NETWORKS - 1} are in use: take a cluster down (npm run talos -- list)`,
  );
}

/** Makes the bridge of a cluster. Its alias says whose it is, so that it is found without our records. */
export async function makeBridge(network: ClusterNetwork): Promise<void> {
  const bridge = bridgeOf(network);
  await output('ip', ['link', 'add', bridge, 'type', 'bridge']);
  await output('ip', ['link', 'set', bridge, 'alias', `ichor-${network.cluster}`]);
  await output('ip', ['addr', 'add', `${gatewayOf(network)}/24`, 'dev', bridge]);
  await output('ip', ['link', 'set', bridge, 'up']);
}

/** Gives a machine its network namespace, with eth0 on the bridge; nothing to do if it has it. */
export async function attachMachine(network: ClusterNetwork, machine: string, number: number): Promise<void> {
  if (existsSync(namespaceOf(network, machine))) return;
  const namespace = namespaceName(network.cluster, machine);
  const veth = vethOf(network, number);
  await output('ip', ['netns', 'add', namespace]);
  await output('ip', ['link', 'add', veth, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace]);
  await output('ip', ['link', 'set', veth, 'master', bridgeOf(network), 'up']);
  const inside = (...args: string[]) => output('ip', ['-n', namespace, ...args]);
  await inside('addr', 'add', `${addressOf(network, number)}/24`, 'dev', 'eth0');
  await inside('link', 'set', 'lo', 'up');
  await inside('link', 'set', 'eth0', 'up');
  await inside('route', 'add', 'default', 'via', gatewayOf(network));
}

/** Takes a machine off the bridge or puts it back. Its own link stays up: packets go nowhere, as behind a dead switch. */
export async function plugMachine(network: ClusterNetwork, number: number, plugged: boolean): Promise<void> {
  const veth = vethOf(network, number);
  await output('ip', ['link', 'set', veth, ...(plugged ? ['master', bridgeOf(network)] : ['nomaster'])]);
}

/** Whether a machine is on the bridge. */
export function isPlugged(network: ClusterNetwork, number: number): boolean {
  return existsSync(`/sys/class/net/${vethOf(network, number)}/master`);
}

/** Names of the clusters that have a namespace or bridge on this machine. */
export function clustersOnNetwork(): string[] {
  const names = namespaces().map((name) => /^ichor-([a-z0-9]+)-/.exec(name)?.[1]);
  return [...new Set([...names, ...bridges().map(({ cluster }) => cluster)])].filter((name) => name !== undefined);
}

/** Removes every namespace and bridge of a cluster, found by name. */
export async function removeNetwork(cluster: string): Promise<void> {
  for (const name of namespaces()) {
    if (name.startsWith(`ichor-${cluster}-`)) await output('ip', ['netns', 'del', name]);
  }
  for (const bridge of bridges()) {
    if (bridge.cluster !== cluster) continue;
    // The machines' ends go with their namespaces, which the kernel removes a moment later.
    for (const port of readdirSync(`/sys/class/net/${bridge.name}/brif`)) await run('ip', ['link', 'del', port]);
    await output('ip', ['link', 'del', bridge.name]);
  }
}

function namespaces(): string[] {
  return existsSync('/run/netns') ? readdirSync('/run/netns').filter((name) => name.startsWith('ichor-')) : [];
}

function bridges(): { name: string; cluster: string }[] {
  return readdirSync('/sys/class/net').flatMap((name) => {
    if (!/^ichor\d$/.test(name)) return [];
    const alias = readAlias(name);
    return alias.startsWith('ichor-') ? [{ name, cluster: alias.slice('ichor-'.length) }] : [];
  });
}

/** The alias of a network interface; empty if another process removes the interface at this moment. */
function readAlias(name: string): string {
  try {
    return readFileSync(join('/sys/class/net', name, 'ifalias'), 'utf8').trim();
  } catch (error) {
    if (['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}

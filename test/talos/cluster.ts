import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Say, sayOnStderr } from '../support/clock-lines.ts';
import { type LockOwner, ownerNow } from '../support/lock.ts';
import type { RunOptions, RunResult } from '../support/run.ts';
import { bootCluster, clusterHealthy, type Milestones, shutDownCluster, startCluster } from './boot.ts';
import { runKubectl, runTalosctl } from './clients.ts';
import { type ConfigPatches, writeConfiguration } from './configuration.ts';
import { type CgroupVersion, cgroupVersion } from './host/cgroups.ts';
import { addressOf, freeIndex, gatewayOf, makeBridge, PORTS } from './host/network.ts';
import { lackOf, readHost } from './host/requirements.ts';
import { saveSysctls } from './host/sysctls.ts';
import { clusterDirectory, machineNames } from './layout.ts';
import { openMachine, type RigMachine } from './machine.ts';
import { type PreparedParts, prepareParts } from './parts.ts';
import { type ClusterRecord, type Contract, RUN, readRecord, recordedClusters, writeRecord } from './record.ts';
import { startServices } from './services.ts';
import { describeOwner, lockCluster, lockHost, removeCluster, removeLeftovers } from './teardown.ts';

/** What kind of cluster is wanted. */
export interface ClusterOptions {
  /** 1 to 5. */
  readonly controlPlanes: number;
  /** 0 to 3. */
  readonly workers: number;
  /** Shape of the machine configuration; up to `v1.13` it is one document. Default `v1.14`. */
  readonly contract?: Contract;
  readonly patches?: ConfigPatches;
  /** Up to ten lower-case letters and digits; default: one that is free. */
  readonly name?: string;
  /** IP:PORT of the Kubernetes endpoint: a control plane's own, or any other address of the network; default: the gateway. */
  readonly endpoint?: (index: number) => string;
  /** Text of a `secrets.yaml` to use instead of a new one. */
  readonly secrets?: string;
  /** Who the cluster lives and dies with; default: this process. `nobody`: it stays until it is taken down. */
  readonly owner?: LockOwner | 'nobody';
  readonly say?: Say;
  /** Gives up making it; what is there of it by then is removed. */
  readonly signal?: AbortSignal;
}

/** A running Talos cluster. Disposing of it removes everything that it is. */
export interface TalosCluster extends AsyncDisposable {
  readonly name: string;
  readonly contract: Contract;
  /** Holds secrets.yaml, talosconfig, kubeconfig, controlplane.yaml and worker.yaml. */
  readonly directory: string;
  readonly secretsFile: string;
  readonly talosconfigFile: string;
  readonly kubeconfigFile: string;
  /** The Kubernetes endpoint that machines and kubeconfig name. */
  readonly endpoint: string;
  /** URL of every control plane's own API server. */
  readonly apiServers: readonly string[];
  readonly machines: readonly RigMachine[];
  readonly controlPlanes: readonly RigMachine[];
  readonly workers: readonly RigMachine[];
  /** When what was reached on the way up, in milliseconds; empty for a cluster that was opened. */
  readonly milestones: Milestones;
  machine(name: string): RigMachine;
  /** Runs talosctl as the cluster's administrator, against the first control plane unless `node` says otherwise. */
  talosctl(args: readonly string[], options?: RunOptions & { node?: string }): Promise<RunResult>;
  /** Runs kubectl as the cluster's administrator. */
  kubectl(args: readonly string[], options?: RunOptions): Promise<RunResult>;
  /** Waits until Talos itself calls the cluster healthy and every node is ready. */
  healthy(timeoutMs?: number): Promise<void>;
  /** Anonymous memory of all machines, in bytes. */
  memory(): number;
  /** Shuts every machine down through the Talos API. */
  shutDown(): Promise<void>;
  /** Powers on every machine that is off, and waits until the cluster is healthy. */
  start(): Promise<void>;
  /** Undoes every fault on every machine, and waits until the cluster is healthy. */
  mend(): Promise<void>;
}

/** Makes a cluster of real Talos machines and waits until it is healthy; when it throws, nothing is left behind. */
export async function talosCluster(options: ClusterOptions): Promise<TalosCluster> {
  const say = options.say ?? sayOnStderr;
  const size = readSize(options);
  const cgroups = requireHost(size);
  for (const name of await removeLeftovers(cgroups)) say(`talos: removed what was left of cluster ${name}`);
  const name = options.name ?? freeName();
  checkName(name);
  const owner = options.owner === 'nobody' ? undefined : (options.owner ?? ownerNow('using a Talos cluster'));
  using _claim = claim(name);
  // What a killed start left under this name.
  await removeCluster(name, cgroups);
  const parts = await prepareParts(say);
  options.signal?.throwIfAborted();
  const lack = lackOf(size, readHost(clusterDirectory(name)));
  if (lack !== undefined) throw new Error(lack);
  try {
    const record = await makeNetwork(name, { options, parts, owner });
    await startServices(record, cgroups);
    await writeConfiguration(record, options.patches ?? {}, options.secrets);
    const milestones = await bootCluster(record, cgroups, { say, signal: options.signal });
    return openRecord(record, cgroups, milestones);
  } catch (error) {
    await removeCluster(name, cgroups);
    throw error;
  }
}

/** Opens a cluster that exists; throws one line that lists those that do when it does not. */
export function openCluster(name: string): TalosCluster {
  const record = readRecord(name);
  if (record === undefined) {
    throw new Error(`there is no cluster ${name}; there are: ${recordedClusters().join(', ') || 'none'}`);
  }
  return openRecord(record, cgroupVersion(), {});
}

function openRecord(record: ClusterRecord, cgroups: CgroupVersion, milestones: Milestones): TalosCluster {
  const network = { cluster: record.name, index: record.index };
  const { name, directory } = record;
  const machines = machineNames(record).map((machine, index) => openMachine(record, machine, index + 1, cgroups));
  const controlPlanes = machines.filter(({ role }) => role === 'controlplane');
  const cluster: TalosCluster = {
    name,
    directory,
    contract: record.contract,
    endpoint: `https://${record.endpoint}`,
    secretsFile: join(directory, 'secrets.yaml'),
    talosconfigFile: join(directory, 'talosconfig'),
    kubeconfigFile: join(directory, 'kubeconfig'),
    apiServers: controlPlanes.map(({ number }) => `https://${addressOf(network, number)}:${PORTS.kubernetes}`),
    machines,
    controlPlanes,
    workers: machines.filter(({ role }) => role === 'worker'),
    milestones,
    machine: (wanted) => {
      const found = machines.find((machine) => machine.name === wanted);
      if (found !== undefined) return found;
      throw new Error(`there is no machine ${wanted} in ${name}; there are: ${machines.map((m) => m.name).join(', ')}`);
    },
    talosctl: (args, options) => runTalosctl(record, args, options),
    kubectl: (args, options) => runKubectl(record, args, options),
    healthy: (timeoutMs) => clusterHealthy(record, timeoutMs),
    memory: () => machines.reduce((sum, machine) => sum + machine.memory(), 0),
    shutDown: () => shutDownCluster(record, machines),
    start: () => startCluster(record, machines),
    async mend() {
      for (const machine of machines) await machine.mend();
      await clusterHealthy(record);
    },
    async [Symbol.asyncDispose]() {
      using _lock = lockCluster(name, `taking down the cluster ${name}`);
      await removeCluster(name, cgroups);
    },
  };
  return cluster;
}

function readSize({ controlPlanes, workers }: ClusterOptions): { controlPlanes: number; workers: number } {
  if (!(Number.isInteger(controlPlanes) && controlPlanes >= 1 && controlPlanes <= 5)) {
    throw new Error(`a cluster has 1 to 5 control planes, not ${controlPlanes}`);
  }
  if (!(Number.isInteger(workers) && workers >= 0 && workers <= 3)) {
    throw new Error(`a cluster has 0 to 3 workers, not ${workers}`);
  }
  return { controlPlanes, workers };
}

/** Asked before anything is built or made. */
function requireHost(size: { controlPlanes: number; workers: number }): CgroupVersion {
  const lack = lackOf(size, readHost(clusterDirectory('main')));
  if (lack !== undefined) throw new Error(lack);
  return cgroupVersion();
}

function freeName(): string {
  for (let number = 1; ; number += 1) {
    if (readRecord(`t${number}`) === undefined) return `t${number}`;
  }
}

/** Names become parts of host names, interface names and control groups. */
export function checkName(name: string): void {
  if (!/^[a-z][a-z0-9]{0,9}$/.test(name)) {
    throw new Error(`a cluster's name is a letter and up to nine letters and digits, all lower case, not "${name}"`);
  }
}

/** Nobody else may make this cluster, and it may not exist. */
function claim(name: string): Disposable {
  const held = lockCluster(name, `making the cluster ${name}`);
  const record = readRecord(name);
  if (record === undefined) return held;
  held.release();
  const whose = record.owner === undefined ? 'made by hand' : describeOwner(record.owner);
  throw new Error(
    `the cluster ${name} exists already (${whose}): take it down first (npm run talos -- down --name ${name}), or choose another name`,
  );
}

async function makeNetwork(
  name: string,
  { options, parts, owner }: { options: ClusterOptions; parts: PreparedParts; owner: LockOwner | undefined },
): Promise<ClusterRecord> {
  using _host = await lockHost(`making the network of ${name}`);
  saveSysctls(RUN);
  const index = await freeIndex();
  const network = { cluster: name, index };
  const directory = clusterDirectory(name);
  await rm(directory, { recursive: true, force: true });
  await mkdir(join(directory, 'rig/machines'), { recursive: true, mode: 0o700 });
  const record: ClusterRecord = {
    name,
    index,
    directory,
    controlPlanes: options.controlPlanes,
    workers: options.workers,
    contract: options.contract ?? 'v1.14',
    endpoint: options.endpoint?.(index) ?? `${gatewayOf(network)}:${PORTS.kubernetes}`,
    rootfs: parts.rootfs,
    images: parts.images,
    ...(owner && { owner }),
  };
  writeRecord(record);
  await makeBridge(network);
  return record;
}

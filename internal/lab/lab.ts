import { join } from 'node:path';
import { type Clock, createSystemClock } from '../../pkg/clock/index.ts';
import { makeFolder } from '../../pkg/files/index.ts';
import { readMachineConfig } from '../../pkg/machineconfig/index.ts';
import { beginReboot, foundWorld, type SimMachine, type World } from '../simulator/index.ts';
import { checkFree, KUBERNETES_PORT, type Reserved, reserveAddresses } from './addresses.ts';
import { type Blueprint, type BlueprintOptions, newBlueprint } from './blueprint.ts';
import { createCertificates } from './certificates.ts';
import { adminKubeconfig, adminTalosconfig } from './credentials.ts';
import { forward } from './endpoint.ts';
import { createFaults, type FaultInForce, machineNamed } from './faults.ts';
import { createIssuer } from './issuer.ts';
import { serveKubernetes } from './kube-server.ts';
import { LabError } from './lab-error.ts';
import { untilListening } from './listening.ts';
import { createLogs, type Logs } from './logs.ts';
import { writePrivate } from './private-file.ts';
import { createRealClock } from './real-clock.ts';
import type { LabWorld, Served } from './served.ts';
import { type LabStatus, machineStatus } from './status.ts';
import { serveTalos } from './talos-server.ts';
import { labTiming } from './timing.ts';

/** What a lab is made of. */
export interface LabOptions {
  /** Gets `secrets.yaml`, `talosconfig` and `kubeconfig`; made where it is not there. */
  readonly directory: string;
  readonly controlPlanes: number;
  readonly workers: number;
  /** Version of Talos on every machine, `1.14.1`. */
  readonly talosVersion: string;
  /** How long a machine boots; everything else keeps its proportion. */
  readonly bootSeconds: number;
  /** Makes secrets and configurations; a new cluster unless given. */
  readonly blueprint?: (options: BlueprintOptions) => Promise<Blueprint>;
  /** The system's unless given. */
  readonly clock?: Clock;
}

/** A lab that runs in this process. */
export interface Lab extends AsyncDisposable {
  readonly directory: string;
  readonly world: World;
  readonly logs: Logs;
  /** As `ichor lab status` shows it. */
  status(): LabStatus;
  /** Errors: `usage` without such a machine; `refused` where it is off or reboots already. */
  reboot(machine: string): void;
  /** Errors: as {@link Faults.start}. */
  break(fault: string, machine?: string): void;
  /** Ends what matches; all faults where nothing is named. */
  mend(fault?: string, machine?: string): readonly FaultInForce[];
  /** Ends every listener, connection and timer. The files stay. */
  close(): Promise<void>;
}

/**
 * Starts a cluster that is served over sockets on loopback addresses, and
 * resolves when every API answers and the credentials are in the directory.
 * Errors: {@link LabError}.
 */
export async function startLab(options: LabOptions): Promise<Lab> {
  const { directory, controlPlanes, workers } = options;
  checkLabOptions(options);
  const host = options.clock ?? createSystemClock();
  const reserved = await reserveAddresses({ controlPlanes, workers });
  try {
    const { addresses } = reserved;
    const makeBlueprint = options.blueprint ?? newBlueprint;
    const blueprint = await makeBlueprint({ ...options, addresses, now: host.now() });
    for (const { name, address, config } of blueprint.placements) {
      const { apiServerPort } = readMachineConfig(config, name);
      if (apiServerPort !== undefined) await checkFree(name, address, apiServerPort);
    }
    await makeFolder(directory);
    return await serve({ options, host, reserved, blueprint });
  } catch (error) {
    reserved.server.close();
    throw error;
  }
}

/** Errors: {@link LabError} `usage` for what no lab can be. */
export function checkLabOptions({
  controlPlanes,
  workers,
  bootSeconds,
}: Pick<LabOptions, 'controlPlanes' | 'workers' | 'bootSeconds'>): void {
  if (!Number.isInteger(controlPlanes) || controlPlanes < 1 || controlPlanes > 9)
    throw new LabError('usage', `a lab has 1 to 9 control planes; ${controlPlanes} were asked for`);
  if (!Number.isInteger(workers) || workers < 0 || workers > 20)
    throw new LabError('usage', `a lab has 0 to 20 workers; ${workers} were asked for`);
  if (!(bootSeconds >= 0.5 && bootSeconds <= 120))
    throw new LabError('usage', `machines of a lab boot in 0.5 to 120 seconds; ${bootSeconds} were asked for`);
}

interface Serving {
  readonly options: LabOptions;
  readonly host: Clock;
  readonly reserved: Reserved;
  readonly blueprint: Blueprint;
}

async function serve({ options, host, reserved, blueprint }: Serving): Promise<Lab> {
  const { directory, bootSeconds } = options;
  const { addresses } = reserved;
  const clock = createRealClock(host);
  const logs = createLogs(() => clock.now());
  const certificates = createCertificates({ now: () => clock.now() });
  const issuer = createIssuer(certificates);
  for (const placement of blueprint.placements) await issuer.learn(placement, placement.config);
  const world = foundWorld({
    seed: Math.trunc(host.now()),
    clock,
    mint: issuer,
    bundle: blueprint.bundle.bundle,
    placements: blueprint.placements,
    version: options.talosVersion,
    timing: labTiming(bootSeconds),
    onTrace: ({ what }) => logs.add(...attributed(world, what)),
  });
  const servers = new Map<SimMachine, readonly Served[]>();
  let isClosed = false;
  const lab: LabWorld = {
    world,
    certificates,
    endpoint: { address: addresses.endpoint, port: KUBERNETES_PORT },
    log: (machine, line) => logs.add(machine, line),
    changed: once(() => {
      if (!isClosed) follow(lab, servers);
    }),
  };
  clock.onEvent = lab.changed;
  const endpoint = forward(reserved.server, world);
  const faults = createFaults(world);
  const close = async (): Promise<void> => {
    clock.stop();
    clock.onEvent = undefined;
    // What is on its way to be followed must not open what is closed here.
    isClosed = true;
    await Promise.all([...servers.values()].flat().map((served) => served.close()));
    servers.clear();
    // Last: it is what keeps other labs off the addresses.
    await endpoint.close();
  };
  try {
    follow(lab, servers);
    await untilServed(world);
    const { clusterName, bundle } = blueprint;
    await writePrivate(join(directory, 'secrets.yaml'), await bundle.write());
    await writePrivate(join(directory, 'talosconfig'), await adminTalosconfig(lab, clusterName));
    await writePrivate(join(directory, 'kubeconfig'), await adminKubeconfig(lab, clusterName));
  } catch (error) {
    await close();
    throw error;
  }
  const startedAt = new Date(clock.now()).toISOString();
  return {
    directory,
    world,
    logs,
    status: () => ({
      directory,
      pid: process.pid,
      startedAt,
      bootSeconds,
      endpoint: `https://${addresses.endpoint}:${KUBERNETES_PORT}`,
      machines: world.machines().map((machine) => machineStatus(world, machine, faults.inForce)),
      etcdAlarms: [...world.etcd.alarms],
      faults: [...faults.inForce],
      memoryBytes: process.memoryUsage.rss(),
    }),
    reboot(name) {
      const machine = machineNamed(world, name);
      if (!machine.isUp || machine.isRebooting) {
        throw new LabError('refused', `${name} is ${machine.isUp ? 'rebooting already' : 'not up'}`);
      }
      beginReboot(world, machine);
      lab.changed();
    },
    break(fault, machine) {
      faults.start(fault, machine);
      logs.add(machine ?? 'cluster', `broken on purpose: ${fault}`);
      lab.changed();
    },
    mend(fault, machine) {
      const ended = faults.end(fault, machine);
      for (const each of ended) logs.add(each.machine ?? 'cluster', `mended: ${each.fault}`);
      lab.changed();
      return ended;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Machines that are new are served, those that are gone are not any more, all others follow. */
function follow(lab: LabWorld, servers: Map<SimMachine, readonly Served[]>): void {
  const machines = lab.world.machines();
  for (const [machine, served] of servers) {
    if (machines.includes(machine)) continue;
    servers.delete(machine);
    for (const each of served) void each.close();
  }
  for (const machine of machines) {
    const served = servers.get(machine) ?? [serveTalos(lab, machine), serveKubernetes(lab, machine)];
    servers.set(machine, served);
    for (const each of served) each.sync();
  }
}

/** Many events of one turn are followed once. */
function once(act: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      act();
    });
  };
}

async function untilServed(world: World): Promise<void> {
  const ports = world
    .machines()
    .flatMap(({ address, plane }) =>
      (plane === undefined ? [50_000, 10_250] : [50_000, 50_001, plane.apiServer.port, 2379, 2380, 10_250]).map(
        (port) => ({ address, port }),
      ),
    );
  await Promise.all(ports.map(({ address, port }) => untilListening(address, port)));
}

/** A line of the trace belongs to the machine that it begins with. */
function attributed(world: World, what: string): [machine: string, line: string] {
  const [first = '', ...rest] = what.split(' ');
  return world.find(first) === undefined ? ['cluster', what] : [first, rest.join(' ')];
}

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toolPath } from '../tools/tools.ts';
import { type CgroupVersion, cgroupMemory, cgroupProcesses, killCgroup, V1_CONTROLLERS } from './host/cgroups.ts';
import { addressOf, attachMachine, isPlugged, namespaceOf, plugMachine } from './host/network.ts';
import { launch } from './launch.ts';
import { cgroupOf, machineDirectory } from './layout.ts';
import { emptyVolumes, fillState, freeState, type MachineRole, pathOnHost, roleOf } from './machine-files.ts';
import { programsOf } from './machine-programs.ts';
import type { ClusterRecord } from './record.ts';
import { waitFor } from './wait.ts';

export type { MachineRole } from './machine-files.ts';

/** One machine of a running cluster: what people do with their hands to a machine on metal. */
export interface RigMachine {
  readonly name: string;
  readonly address: string;
  readonly role: MachineRole;
  /** Counted from 1, control planes first. */
  readonly number: number;
  /** Whether it has power. A machine whose boot is held back, or that Talos shut down, may be on or off. */
  isOn(): boolean;
  /** The ID of the current or last boot, as Talos and Kubernetes report it. */
  bootId(): string;
  /** How often it booted since it was made. */
  boots(): number;
  /** Anonymous memory of all that runs on it, in bytes. */
  memory(): number;
  /** Power loss: every process ends at once; what Talos wrote stays. */
  powerOff(): Promise<void>;
  /** Power on, with the volumes that were kept. */
  powerOn(): Promise<void>;
  /** The next boot waits, after a reboot or power on, until `releaseBoot`. */
  holdBoot(): void;
  releaseBoot(): void;
  /** Whether a boot is being held back at this moment. */
  isHeld(): boolean;
  /** Nothing reaches it and it reaches nothing; its own link stays up. */
  cutNetwork(): Promise<void>;
  mendNetwork(): Promise<void>;
  /** Stops every process of that program (`etcd`, `kube-apiserver`, `kubelet`, `machined`, `apid`, `trustd`); answers how many. */
  freeze(program: string): Promise<number>;
  /** Lets them go on; without a program, all that are frozen. */
  thaw(program?: string): number;
  /** Process numbers of a program, as the host sees them. */
  pids(program: string): number[];
  /** Fills the STATE volume up to `leaveBytes`. */
  fillState(leaveBytes?: number): Promise<void>;
  freeState(): void;
  /** A file as Talos sees it; of a machine without power, below /var, /system/state and /opt only. */
  readFile(path: string): Promise<Buffer>;
  /** What machined wrote to the console, all boots. */
  console(): Promise<string>;
  /** The log that Talos keeps of a service, current boot. */
  log(service: string): Promise<string>;
  /** Another machine under the same name and address: power loss, empty volumes, first boot. */
  replace(): Promise<void>;
  /** Undoes all of the above: power, network, frozen processes, a full STATE, a held boot. */
  mend(): Promise<void>;
}

/** The hands on one machine of a cluster that exists, whichever process made it. */
export function openMachine(record: ClusterRecord, name: string, number: number, cgroups: CgroupVersion): RigMachine {
  const network = { cluster: record.name, index: record.index };
  const directory = machineDirectory(record.directory, name);
  const group = cgroupOf(record.name, name);
  const hold = join(directory, 'hold');
  const supervisorFile = join(directory, 'supervisor.log');
  const note = (text: string) => appendFile(supervisorFile, `${new Date().toISOString()} ${text}\n`);
  const supervisorLog = () => readFileSync(supervisorFile, 'utf8');
  const { init, ...programs } = programsOf(name, group, cgroups);

  const machine: RigMachine = {
    name,
    number,
    address: addressOf(network, number),
    role: roleOf(name),
    isOn: () => cgroupProcesses(cgroups, group).length > 0,
    bootId: () => readFileSync(join(directory, 'boot_id'), 'utf8').trim(),
    boots: () => (supervisorLog().match(/ boot [0-9a-f-]{36}$/gm) ?? []).length,
    memory: () => cgroupMemory(cgroups, group),
    async powerOff() {
      await killCgroup(cgroups, group);
      await note('power lost');
    },
    async powerOn() {
      if (machine.isOn()) throw new Error(`${name} is on already`);
      await attachMachine(network, name, number);
      launchSupervisor(record, name, cgroups);
      await waitFor(`power on ${name}`, 60_000, () => machine.isOn(), 20);
    },
    holdBoot: () => writeFileSync(hold, ''),
    releaseBoot: () => rmSync(hold, { force: true }),
    isHeld: () => machine.isOn() && supervisorLog().trimEnd().endsWith('boot held back'),
    cutNetwork: () => plugMachine(network, number, false),
    mendNetwork: () => plugMachine(network, number, true),
    ...programs,
    fillState: (leaveBytes = 0) => fillState(directory, leaveBytes),
    freeState: () => freeState(directory),
    readFile: async (path) => await readFile(pathOnHost(directory, init(), path)),
    console: () => readFile(join(directory, 'console.log'), 'utf8'),
    log: async (service) => (await machine.readFile(`/var/log/${service}.log`)).toString(),
    async replace() {
      if (machine.isOn()) await machine.powerOff();
      await emptyVolumes(record, directory);
      await note('replaced by a machine with empty volumes');
      await machine.powerOn();
    },
    async mend() {
      machine.releaseBoot();
      machine.freeState();
      if (existsSync(namespaceOf(network, name)) && !isPlugged(network, number)) await machine.mendNetwork();
      machine.thaw();
      if (!machine.isOn()) await machine.powerOn();
    },
  };
  return machine;
}

function launchSupervisor(record: ClusterRecord, name: string, cgroups: CgroupVersion): void {
  const directory = machineDirectory(record.directory, name);
  launch({
    group: cgroupOf(record.name, name),
    cgroups,
    command: ['bash', join(import.meta.dirname, 'node/supervisor.sh')],
    log: join(directory, 'supervisor.log'),
    env: {
      RIG_DIR: join(import.meta.dirname, 'node'),
      ROOTFS: record.rootfs,
      PIVOT: toolPath('rig-pivot'),
      MACHINE: name,
      MACHINE_DIR: directory,
      MACHINE_NETNS: namespaceOf({ cluster: record.name, index: record.index }, name),
      V1_CONTROLLERS: cgroups === 1 ? V1_CONTROLLERS.join(' ') : '',
    },
  });
}

import { existsSync, readFileSync, readlinkSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { appendFile, cp, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { output } from '../support/run.ts';
import { toolPath } from '../tools/tools.ts';
import { type CgroupVersion, cgroupMemory, cgroupProcesses, kill, killCgroup, V1_CONTROLLERS } from './host/cgroups.ts';
import { addressOf, attachMachine, gatewayOf, isPlugged, namespaceOf, plugMachine } from './host/network.ts';
import { launch } from './launch.ts';
import { cgroupOf, machineDirectory } from './layout.ts';
import type { ClusterRecord } from './record.ts';
import { waitFor } from './wait.ts';

/** What a machine is in its cluster. */
export type MachineRole = 'controlplane' | 'worker';

/** The size of the STATE volume: Talos's own partition has 100 MB. */
const STATE_SIZE = '100m';

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

/** Makes the files of a machine that has never booted. */
export async function createMachine(record: ClusterRecord, name: string, number: number): Promise<void> {
  const directory = machineDirectory(record.directory, name);
  const network = { cluster: record.name, index: record.index };
  const role: MachineRole = name.startsWith('cp') ? 'controlplane' : 'worker';
  await mkdir(join(directory, 'etc'), { recursive: true });
  await writeFile(join(directory, 'etc/hostname'), `${name}\n`);
  await writeFile(join(directory, 'etc/resolv.conf'), `nameserver ${gatewayOf(network)}\n`);
  await writeFile(join(directory, 'etc/hosts'), `127.0.0.1 localhost\n${addressOf(network, number)} ${name}\n`);
  // Talos reads its first configuration from the environment; later boots find
  // the one that it kept in /system/state.
  const configuration = await readFile(join(record.directory, `${role}.yaml`));
  await writeFile(join(directory, 'userdata'), configuration.toString('base64'), { mode: 0o600 });
  await createVolumes(record, directory);
}

/** Empty volumes. STATE is a file system of its own, so that it can be full without the rest. */
async function createVolumes(record: ClusterRecord, directory: string): Promise<void> {
  const volumes = join(directory, 'volumes');
  for (const name of ['var/lib/kubelet', 'state', 'opt']) await mkdir(join(volumes, name), { recursive: true });
  const options = `size=${STATE_SIZE},mode=700`;
  await output('mount', ['-t', 'tmpfs', '-o', options, `ichor-${record.name}`, join(volumes, 'state')]);
  await cp(join(record.rootfs, 'opt'), join(volumes, 'opt'), { recursive: true });
}

/** The hands on one machine of a cluster that exists, whichever process made it. */
export function openMachine(record: ClusterRecord, name: string, number: number, cgroups: CgroupVersion): RigMachine {
  const network = { cluster: record.name, index: record.index };
  const directory = machineDirectory(record.directory, name);
  const group = cgroupOf(record.name, name);
  const hold = join(directory, 'hold');
  const filler = join(directory, 'volumes/state/.ichor-filler');
  const note = (text: string) => appendFile(join(directory, 'supervisor.log'), `${new Date().toISOString()} ${text}\n`);
  const supervisorLog = () => readFileSync(join(directory, 'supervisor.log'), 'utf8');

  const machine: RigMachine = {
    name,
    number,
    address: addressOf(network, number),
    role: name.startsWith('cp') ? 'controlplane' : 'worker',
    isOn: () => cgroupProcesses(cgroups, group).length > 0,
    bootId: () => readFileSync(join(directory, 'boot_id'), 'utf8').trim(),
    boots: () =>
      supervisorLog()
        .split('\n')
        .filter((line) => / boot [0-9a-f-]{36}$/.test(line)).length,
    memory: () => cgroupMemory(cgroups, group),

    async powerOff() {
      await killCgroup(cgroups, group);
      await note('power lost');
    },
    async powerOn() {
      if (machine.isOn()) throw new Error(`${name} is on already`);
      await attachMachine(network, name, number);
      launch({
        group,
        cgroups,
        command: ['bash', join(import.meta.dirname, 'node/supervisor.sh')],
        env: machineEnvironment(record, name, cgroups),
        log: join(directory, 'supervisor.log'),
      });
      await waitFor(`power on ${name}`, 10_000, () => machine.isOn(), 20);
    },
    holdBoot: () => writeFileSync(hold, ''),
    releaseBoot: () => rmSync(hold, { force: true }),
    isHeld: () => machine.isOn() && supervisorLog().trimEnd().endsWith('boot held back'),

    cutNetwork: () => plugMachine(network, number, false),
    mendNetwork: () => plugMachine(network, number, true),

    pids: (program) => cgroupProcesses(cgroups, group).filter((pid) => isProgram(pid, program)),
    async freeze(program) {
      const pids = machine.pids(program);
      if (pids.length === 0) throw new Error(`no process of ${program} runs on ${name}`);
      for (const pid of pids) kill(pid, 'SIGSTOP');
      // Threads stop one after the other.
      await waitFor(`${program} on ${name} to stop`, 10_000, () => pids.every(isFrozen), 10);
      return pids.length;
    },
    thaw(program) {
      const all = program === undefined ? cgroupProcesses(cgroups, group) : machine.pids(program);
      const frozen = all.filter(isFrozen);
      for (const pid of frozen) kill(pid, 'SIGCONT');
      return frozen.length;
    },

    async fillState(leaveBytes = 0) {
      const { bavail, bsize } = statfsSync(join(directory, 'volumes/state'));
      const file = await open(filler, 'a');
      try {
        await file.appendFile(Buffer.alloc(Math.max(0, bavail * bsize - leaveBytes)));
      } finally {
        await file.close();
      }
    },
    freeState: () => rmSync(filler, { force: true }),

    readFile: async (path) => await readFile(pathOnHost(directory, machined(machine), path)),
    console: () => readFile(join(directory, 'console.log'), 'utf8'),
    log: async (service) => (await machine.readFile(`/var/log/${service}.log`)).toString(),

    async replace() {
      if (machine.isOn()) await machine.powerOff();
      const volumes = join(directory, 'volumes');
      await output('umount', [join(volumes, 'state')]);
      await rm(volumes, { recursive: true, force: true });
      await createVolumes(record, directory);
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

function machineEnvironment(record: ClusterRecord, name: string, cgroups: CgroupVersion): Record<string, string> {
  return {
    RIG_DIR: join(import.meta.dirname, 'node'),
    ROOTFS: record.rootfs,
    PIVOT: toolPath('rig-pivot'),
    MACHINE: name,
    MACHINE_DIR: machineDirectory(record.directory, name),
    MACHINE_NETNS: namespaceOf({ cluster: record.name, index: record.index }, name),
    V1_CONTROLLERS: cgroups === 1 ? V1_CONTROLLERS.join(' ') : '',
  };
}

/** The host's number of the first process of a machine. */
function machined(machine: RigMachine): number | undefined {
  return machine.pids('machined').find((pid) => /^NSpid:\t\d+\t1$/m.test(read(`/proc/${pid}/status`)));
}

function pathOnHost(directory: string, init: number | undefined, path: string): string {
  if (init !== undefined) return `/proc/${init}/root${path}`;
  const volumes: Readonly<Record<string, string>> = { '/var/': 'var', '/system/state/': 'state', '/opt/': 'opt' };
  for (const [prefix, volume] of Object.entries(volumes)) {
    if (path.startsWith(prefix)) return join(directory, 'volumes', volume, path.slice(prefix.length));
  }
  throw new Error(
    `${path} cannot be read while the machine is off: only what is below /var, /system/state and /opt is kept`,
  );
}

/** Whether a process runs that program, by the name that it was started under or the file that it is. */
function isProgram(pid: number, program: string): boolean {
  const started = read(`/proc/${pid}/cmdline`).split('\0')[0] ?? '';
  if (basename(started) === program) return true;
  const file = basename(readLink(`/proc/${pid}/exe`));
  return file === program || file === `${program}.real` || (program === 'machined' && started === '/sbin/init');
}

function isFrozen(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

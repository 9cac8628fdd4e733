import {
  editConfiguration,
  isEdited,
  powerOff,
  powerOn,
  restartKubelet,
  type SimMachine,
  setCutOff,
  startEtcd,
  stopEtcd,
  type World,
} from '../simulator/index.ts';
import type { FaultName } from './fault-names.ts';
import { LabError } from './lab-error.ts';

/** A fault of the world by its name. */
export interface LabFault {
  readonly name: FaultName;
  readonly summary: string;
  /** Which machines can have it; `cluster` for a fault of the whole. */
  readonly concerns: 'machine' | 'controlplane' | 'cluster';
  start(world: World, machine: SimMachine): void;
  /** Ends it; absent where it is over at once. */
  end?(world: World, machine: SimMachine): void;
}

/** Every fault that a lab knows, in the order in which they are listed. */
export const LAB_FAULTS: readonly LabFault[] = [
  {
    name: 'power-loss',
    summary: 'the machine loses its power, and stays off',
    concerns: 'machine',
    start: (world, machine) => powerOff(world, machine, undefined),
    end: (world, machine) => powerOn(world, machine),
  },
  {
    name: 'cut-off',
    summary: 'nobody reaches the machine over the network, although it runs',
    concerns: 'machine',
    start: (world, machine) => setCutOff(world, machine, true),
    end: (world, machine) => setCutOff(world, machine, false),
  },
  {
    name: 'etcd-stop',
    summary: 'etcd of the control plane crashes, and stays away',
    concerns: 'controlplane',
    start: stopEtcd,
    // A reboot has started it already.
    end: (world, machine) => machine.plane?.etcd.isRunning === false && startEtcd(world, machine),
  },
  {
    name: 'frozen-apiserver',
    summary: 'kube-apiserver of the control plane takes connections and answers nothing',
    concerns: 'controlplane',
    start: (_world, machine) => setFrozen(machine, true),
    end: (_world, machine) => setFrozen(machine, false),
  },
  {
    name: 'kubelet-stop',
    summary: 'the kubelet stops: the Node becomes NotReady after 40 s',
    concerns: 'machine',
    start(_world, { kubelet }) {
      kubelet.isRunning = false;
      kubelet.readyAt = Number.POSITIVE_INFINITY;
    },
    end: restartKubelet,
  },
  {
    name: 'foreign-edit',
    summary: 'somebody else changes the machine configuration (a comment)',
    concerns: 'machine',
    start: (world, machine) => !isEdited(machine) && editConfiguration(world, machine),
    end: (world, machine) => isEdited(machine) && editConfiguration(world, machine),
  },
  {
    name: 'alarm',
    summary: 'etcd raises the alarm NOSPACE',
    concerns: 'cluster',
    start(world) {
      world.etcd.alarms = ['NOSPACE'];
    },
    end(world) {
      world.etcd.alarms = [];
    },
  },
  {
    name: 'full-budget',
    summary: 'disruption budgets allow no eviction, so that drains do not end',
    concerns: 'cluster',
    start(world) {
      for (const each of world.kubernetes.workloads.deployments) each.minAvailable = each.replicas;
    },
    end(world) {
      for (const each of world.kubernetes.workloads.deployments)
        each.minAvailable = each.replicas > 1 && each.name === 'web' ? each.replicas - 1 : undefined;
    },
  },
  {
    name: 'cut-etcd',
    summary: 'every connection of etcd breaks, once: what comes back is what new handshakes allow',
    concerns: 'cluster',
    start: (world) => world.etcd.cut(),
  },
  {
    name: 'move-leader',
    summary: 'the leader of etcd hands over, once',
    concerns: 'cluster',
    start(world) {
      const leader = world.find(world.etcd.leader ?? '');
      if (leader !== undefined) world.etcd.forfeit(leader);
    },
  },
];

function setFrozen({ plane }: SimMachine, isFrozen: boolean): void {
  if (plane !== undefined) plane.apiServer.isFrozen = isFrozen;
}

/** A fault in force. */
export interface FaultInForce {
  readonly fault: string;
  /** Absent for a fault of the whole cluster. */
  readonly machine: string | undefined;
  /** RFC 3339. */
  readonly since: string;
}

/** The fault of that name. Errors: `usage`, with all names. */
export function faultNamed(name: string): LabFault {
  const found = LAB_FAULTS.find((fault) => fault.name === name);
  if (found !== undefined) return found;
  throw new LabError(
    'usage',
    `there is no fault "${name}"; there are: ${LAB_FAULTS.map((fault) => fault.name).join(', ')}`,
  );
}

/** What is broken in one lab. */
export interface Faults {
  readonly inForce: readonly FaultInForce[];
  /** Errors: `usage` where the machine cannot have it; `refused` where it has it already. */
  start(fault: string, machine: string | undefined): void;
  /** Ends what matches; everything where nothing is named. Returns what was ended. */
  end(fault: string | undefined, machine: string | undefined): readonly FaultInForce[];
}

/** Nothing is broken yet. */
export function createFaults(world: World): Faults {
  const inForce: FaultInForce[] = [];
  return {
    inForce,
    start(name, machineName) {
      const fault = faultNamed(name);
      const machine = concerned(world, fault, machineName);
      if (inForce.some((each) => each.fault === name && each.machine === machine?.name)) {
        throw new LabError(
          'refused',
          `${name} is in force already${machine === undefined ? '' : ` on ${machine.name}`}`,
        );
      }
      // A fault of the whole is handed any machine, and does not look at it.
      const [first] = world.machines();
      const subject = machine ?? first;
      if (subject === undefined) throw new LabError('refused', 'the lab has no machine');
      fault.start(world, subject);
      if (fault.end === undefined) return;
      inForce.push({ fault: name, machine: machine?.name, since: new Date(world.clock.now()).toISOString() });
    },
    end(name, machineName) {
      if (name !== undefined) faultNamed(name);
      const ended = inForce.filter(
        (each) =>
          (name === undefined || each.fault === name) && (machineName === undefined || each.machine === machineName),
      );
      for (const each of ended) {
        inForce.splice(inForce.indexOf(each), 1);
        const subject = each.machine === undefined ? world.machines()[0] : world.find(each.machine);
        if (subject !== undefined) faultNamed(each.fault).end?.(world, subject);
      }
      return ended;
    },
  };
}

function concerned(
  world: World,
  { name, concerns }: LabFault,
  machineName: string | undefined,
): SimMachine | undefined {
  if (concerns === 'cluster') {
    if (machineName === undefined) return undefined;
    throw new LabError('usage', `${name} is a fault of the whole cluster; it takes no machine`);
  }
  const machine = machineNamed(world, machineName);
  if (concerns === 'machine' || machine.role === concerns) return machine;
  throw new LabError('usage', `${name} is a fault of control planes; ${machine.name} is a worker`);
}

/** The machine of that name. Errors: `usage`, with all names. */
export function machineNamed(world: World, name: string | undefined): SimMachine {
  const machine = world.find(name ?? '');
  if (machine !== undefined) return machine;
  const names = world.machines().map((each) => each.name);
  throw new LabError(
    'usage',
    name === undefined
      ? `name a machine: ${names.join(', ')}`
      : `there is no machine ${name}; there are: ${names.join(', ')}`,
  );
}

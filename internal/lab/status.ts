import { isApiServerReady, type SimMachine, type World } from '../simulator/index.ts';
import type { FaultInForce } from './faults.ts';

/** What a machine is doing. */
export type MachineState = 'running' | 'rebooting' | 'off' | 'cut-off';

/** One machine of a lab. */
export interface MachineStatus {
  readonly name: string;
  readonly role: 'controlplane' | 'worker';
  readonly address: string;
  readonly talosVersion: string;
  readonly state: MachineState;
  /** Reboots since the lab was started. */
  readonly reboots: number;
  /** Whether its Node is Ready. */
  readonly node: 'Ready' | 'NotReady' | 'Unknown';
  readonly schedulable: boolean;
  /** Absent on workers, as the two below. */
  readonly etcd?: 'leader' | 'healthy' | 'unhealthy';
  readonly apiServer?: 'ready' | 'not ready';
  /** Where it listens. */
  readonly apiServerPort?: number;
}

/** A lab as `ichor lab status` shows it. */
export interface LabStatus {
  readonly directory: string;
  /** Process that serves it. */
  readonly pid: number;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly bootSeconds: number;
  /** URL of the Kubernetes API. */
  readonly endpoint: string;
  readonly machines: readonly MachineStatus[];
  readonly etcdAlarms: readonly string[];
  readonly faults: readonly FaultInForce[];
  /** Resident memory of the process in bytes. */
  readonly memoryBytes: number;
}

/** One machine as it is now. */
export function machineStatus(world: World, machine: SimMachine, faults: readonly FaultInForce[]): MachineStatus {
  const { name, role, address, version, boot, node, plane } = machine;
  return {
    name,
    role,
    address,
    talosVersion: version,
    state: stateOf(machine, faults),
    reboots: boot - 1,
    node: NODE_WORDS[node?.ready ?? 'Unknown'],
    schedulable: node?.unschedulable !== true,
    ...(plane === undefined
      ? {}
      : {
          etcd: etcdOf(world, machine),
          apiServer: isApiServerReady(world, machine) ? ('ready' as const) : ('not ready' as const),
          apiServerPort: plane.apiServer.port,
        }),
  };
}

const NODE_WORDS = { True: 'Ready', False: 'NotReady', Unknown: 'Unknown' } as const;

function stateOf({ name, isUp, isRebooting, isCutOff }: SimMachine, faults: readonly FaultInForce[]): MachineState {
  if (isCutOff) return 'cut-off';
  if (isUp) return isRebooting ? 'rebooting' : 'running';
  return faults.some((each) => each.fault === 'power-loss' && each.machine === name) ? 'off' : 'rebooting';
}

function etcdOf({ etcd }: World, machine: SimMachine): 'leader' | 'healthy' | 'unhealthy' {
  if (!etcd.isHealthy(machine)) return 'unhealthy';
  return etcd.leader === machine.name ? 'leader' : 'healthy';
}

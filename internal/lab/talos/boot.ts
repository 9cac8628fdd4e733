import type { MachineStage, MachineStatus } from '../../../pkg/talos/index.ts';
import { containersOf, type SimMachine, serviceFacts } from '../../simulator/index.ts';
import { type FullConfiguration, readFullConfiguration } from '../configuration.ts';
import type { LabWorld } from '../served.ts';
import { createEventLog, type EventLog } from './event-log.ts';
import { createResourceStore, type ResourceStore } from './resource-store.ts';
import { createServiceLog, type ServiceLog } from './service-log.ts';

/** What resources are made of. */
export interface BootFacts {
  readonly lab: LabWorld;
  readonly machine: SimMachine;
  readonly id: string;
  /** When it began, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly services: ServiceLog;
  status(): MachineStatus;
  /** The cluster's endpoint when the lab began. */
  readonly firstEndpoint: string | undefined;
  /** When the container of a static pod was started, in milliseconds since the epoch. */
  podStartedAt(app: string): number;
  /** The configuration that runs, keys included. */
  configuration(): FullConfiguration;
}

/** Talos on one machine, from one boot to the next: what it remembers goes with the boot. */
export interface Boot extends BootFacts {
  readonly events: EventLog;
  readonly resources: ResourceStore;
  /** Lines of the kernel log, oldest first. */
  readonly console: readonly ConsoleLine[];
  /** Whose reboot this is, for the events of it. */
  expectReboot(actorId: string): void;
  /** Takes up what happened in the world. */
  observe(): void;
}

/** A line of the kernel log. */
export interface ConsoleLine {
  readonly at: number;
  readonly text: string;
}

const CONSOLE_LINES = 500;

/** Phases of a reboot in order, and the task of each that clients look for (`v1alpha1_sequencer.go`). */
const REBOOT_PHASES: readonly (readonly [phase: string, task: string])[] = [
  ['cleanup', 'stopAllPods'],
  ['dbus', 'stopDBus'],
  ['stopServices', 'stopServicesEphemeral'],
  ['umount', 'unmountPodMounts'],
  ['stopEverything', 'stopAllServices'],
  ['reboot', 'reboot'],
];

/**
 * The boot that a machine is in. One that is there when the lab begins has been up
 * for long; any other one is followed from its first moment.
 */
export function createBoot(lab: LabWorld, machine: SimMachine, firstEndpoint: string | undefined): Boot {
  const { world } = lab;
  const now = (): number => world.clock.now();
  const services = createServiceLog();
  const events = createEventLog(now);
  const console: ConsoleLine[] = [];
  const pods = new Map<string, { readonly pid: number; readonly at: number }>();
  let rebootActor = '';
  let isRebooting = false;
  let hasStarted = machine.boot === 1;
  let lastStatus = '';
  let read: { readonly text: string; readonly full: FullConfiguration } | undefined;

  function say(text: string): void {
    console.push({ at: now(), text: `[talos] ${text}` });
    if (console.length > CONSOLE_LINES) console.shift();
    lab.log(machine.name, text);
  }

  function status(): MachineStatus {
    const unmet = unmetOf(machine, services);
    const stage = stageOf(machine, hasStarted);
    return { stage, ready: unmet.length === 0 && (stage === 'running' || stage === 'booting'), unmet };
  }

  function observeServices(): void {
    for (const { id, state, message } of services.observe(serviceFacts(world, machine), now())) {
      const record = services.find(id);
      if (record !== undefined) events.add({ type: 'service', record, state, message });
      say(`service[${id}](${state}): ${message}`);
    }
  }

  function observePods(): void {
    for (const { name, pid } of containersOf(machine)) {
      if (pods.get(name)?.pid !== pid) pods.set(name, { pid, at: now() });
    }
  }

  function observeSequences(): void {
    if (machine.isRebooting && !isRebooting) {
      isRebooting = true;
      say('reboot sequence: starting');
      events.add({ type: 'sequence', sequence: 'reboot', action: 'START' }, rebootActor);
      observeStatus();
      for (const [phase, task] of REBOOT_PHASES) {
        events.add({ type: 'phase', phase, action: 'START' }, rebootActor);
        events.add({ type: 'task', task, action: 'START' }, rebootActor);
      }
    }
    if (!hasStarted && !isRebooting && isBooted(services)) {
      hasStarted = true;
      events.add({ type: 'sequence', sequence: 'boot', action: 'STOP' });
      say('boot sequence: done');
    }
  }

  function observeStatus(): void {
    const { stage, ready, unmet } = status();
    const next = JSON.stringify([stage, ready, unmet]);
    if (next === lastStatus) return;
    lastStatus = next;
    events.add({ type: 'status', stage, ready, unmet });
  }

  const podStartedAt = (app: string): number => pods.get(app)?.at ?? 0;
  const configuration = (): FullConfiguration => {
    if (read?.text !== machine.config) read = { text: machine.config, full: readFullConfiguration(machine.config) };
    return read.full;
  };
  const facts: BootFacts = {
    lab,
    machine,
    id: machine.bootId,
    startedAt: now(),
    firstEndpoint,
    services,
    status,
    podStartedAt,
    configuration,
  };
  const resources = createResourceStore(facts);
  for (const sequence of ['initialize', 'boot']) {
    events.add({ type: 'sequence', sequence, action: 'START' });
    if (sequence === 'initialize' || hasStarted) events.add({ type: 'sequence', sequence, action: 'STOP' });
  }
  say(`Talos v${machine.version} in boot ${machine.boot}`);
  return {
    ...facts,
    events,
    resources,
    console,
    expectReboot(actorId) {
      rebootActor = actorId;
    },
    observe() {
      observeServices();
      observePods();
      observeSequences();
      observeStatus();
      resources.observe();
    },
  };
}

function stageOf(machine: SimMachine, hasStarted: boolean): MachineStage {
  if (machine.isRebooting) return 'rebooting';
  return hasStarted ? 'running' : 'booting';
}

/** Whether everything that the boot sequence waits for has come up once. */
function isBooted(services: ServiceLog): boolean {
  return services.list().every(({ id, healthy }) => (id !== 'kubelet' && id !== 'etcd') || healthy === true);
}

function unmetOf(machine: SimMachine, services: ServiceLog): MachineStatus['unmet'] {
  const waiting = services
    .list()
    .filter(({ state, healthy }) => state !== 'Running' || healthy === false || healthy === undefined)
    .filter(({ id }) => id === 'etcd' || id === 'kubelet')
    .map(({ id }) => id);
  const pods = Object.entries(machine.podsReady).filter(([, ready]) => !ready);
  const isReady = machine.node?.ready === 'True';
  return [
    ...(waiting.length === 0 ? [] : [{ name: 'services', reason: `${waiting.join(', ')} not healthy` }]),
    ...(pods.length === 0
      ? []
      : [
          {
            name: 'staticPods',
            reason: `${pods.map(([name]) => `kube-system/${name}-${machine.name}`).join(', ')} not ready`,
          },
        ]),
    ...(isReady ? [] : [{ name: 'nodeReady', reason: `node "${machine.name}" status is not available yet` }]),
  ];
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from '../../../pkg/pki/index.ts';
import {
  createTalosMachine,
  isTalosError,
  type MachineConfiguration,
  type ResourceKind,
  type ServiceStatus,
  STATIC_POD_STATUS,
  type TalosMachine,
} from '../../../pkg/talos/index.ts';
import type { Subject, TalosTarget } from './target.ts';

const LEASE_HOLDERS = ['pod:kube-controller-manager', 'pod:kube-scheduler'];

/** For tests that wait for reboots and restarted pods; a busy host takes many times as long as an idle one. */
export const PATIENT = { timeout: 1_800_000 };

/** Makes the clients of a target; `close` ends them. */
export function openSubject(target: TalosTarget): Subject & { close(): void } {
  const machines = new Map(
    target.machines.map((machine) => {
      const client = createTalosMachine({
        name: machine.name,
        address: machine.address,
        trust: [target.bundle.talos.certificate],
        credentials: target.credentials,
      });
      return [machine.name, { client, role: machine.role }] as const;
    }),
  );
  const of = (role: string) =>
    [...machines.values()].filter((entry) => entry.role === role).map(({ client }) => client);
  const machine = (name: string): TalosMachine => {
    const found = machines.get(name);
    if (found === undefined) throw new Error(`the target has no machine ${name}`);
    return found.client;
  };
  const controlPlanes = of('controlplane');
  const [first] = controlPlanes;
  if (first === undefined) throw new Error('the target has no control plane');
  const all = [...machines.values()].map(({ client }) => client);
  return {
    target,
    machine,
    controlPlanes,
    workers: of('worker'),
    all,
    first,
    close: () => {
      for (const client of all) client.close();
    },
  };
}

/**
 * Asks again and again until the answer is not `undefined`. A machine that restarts
 * things refuses and interrupts calls, so failed calls count as "not yet"; the last
 * failure is told when the time is over.
 */
export async function eventually<T>(what: string, timeoutMs: number, ask: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + timeoutMs;
  let last: unknown = 'it was not so';
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what} (${String(last)})`);
    await sleep(250);
  }
}

/** Waits until the condition holds. */
export async function until(what: string, timeoutMs: number, holds: () => Promise<boolean>): Promise<void> {
  await eventually(what, timeoutMs, async () => ((await holds()) ? true : undefined));
}

/** What of a machine may move when its configuration changes: versions of resources, starts of processes, certificates. */
export interface Footprint {
  readonly versions: Readonly<Record<string, bigint | undefined>>;
  /** ID of the running container of each static pod, by component. */
  readonly staticPods: Readonly<Record<string, string>>;
  /** When each service last went into Running, in ms since the epoch. */
  readonly services: Readonly<Record<string, number>>;
}

/** Reads the footprint of one machine; kinds that it does not have are `undefined`. */
export async function footprint(
  machine: TalosMachine,
  kinds: Readonly<Record<string, ResourceKind<unknown>>>,
): Promise<Footprint> {
  const versions = await Promise.all(
    Object.entries(kinds).map(async ([name, kind]) => [name, (await machine.get(kind))?.metadata.version] as const),
  );
  const configurations = await Promise.all([machine.configuration('active'), persistent(machine)]);
  const services = (await machine.services()).map(
    // A failed health check is told by an event in the state Running as well: only the first after another state counts.
    ({ id, events }) => [id, events.findLast(startsRunning)?.at ?? 0] as const,
  );
  return {
    versions: {
      ...Object.fromEntries(versions),
      'MachineConfig/active': configurations[0].version,
      'MachineConfig/persistent': configurations[1]?.version,
    },
    staticPods: await staticPods(machine),
    services: Object.fromEntries(services),
  };
}

function startsRunning(
  event: ServiceStatus['events'][number],
  index: number,
  events: ServiceStatus['events'],
): boolean {
  return event.state === 'Running' && events[index - 1]?.state !== 'Running';
}

/** The persistent configuration; there is none between a boot from disk and the first apply after it. */
export async function persistent(machine: TalosMachine): Promise<MachineConfiguration | undefined> {
  try {
    return await machine.configuration('persistent');
  } catch (error) {
    if (isTalosError(error, 'not-found')) return undefined;
    throw error;
  }
}

/** Container IDs of the static pods by component, from the container runtime itself. */
export async function staticPods(machine: TalosMachine): Promise<Record<string, string>> {
  const components = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
  const running = (await machine.containers()).filter(
    ({ sandbox, status }) => !sandbox && status === 'CONTAINER_RUNNING',
  );
  return Object.fromEntries(
    components.flatMap((component) =>
      running.filter(({ name }) => name === component).map(({ id }) => [component, id]),
    ),
  );
}

/** Names of what differs, sorted: `versions`, then `pod:`, then `service:`. */
export function moved(before: Footprint, after: Footprint): string[] {
  const differing = (prefix: string, a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>) =>
    [...new Set([...Object.keys(a), ...Object.keys(b)])]
      .filter((name) => a[name] !== b[name])
      .map((name) => prefix + name);
  return [
    ...differing('', before.versions, after.versions).sort(),
    ...differing('pod:', before.staticPods, after.staticPods).sort(),
    ...differing('service:', before.services, after.services).sort(),
  ];
}

/** Waits until a machine's static pods run and are ready, as its own kubelet reports them. */
export async function podsReady(machine: TalosMachine, timeoutMs = 600_000): Promise<void> {
  await until(`the static pods of ${machine.name} are ready`, timeoutMs, async () => {
    const statuses = await machine.list(STATIC_POD_STATUS);
    const running = Object.values(await staticPods(machine)).map((id) => id.split(':').at(-1) ?? '');
    return (
      statuses.length === 3 &&
      running.length === 3 &&
      // The status is up to 15 s old: it must be about the containers that run now.
      statuses.every(({ spec }) => spec.ready && running.some((id) => spec.containerId.includes(id)))
    );
  });
}

/** Changes the text of the active configuration and applies it without a reboot. */
export async function change(machine: TalosMachine, edit: (config: string) => string): Promise<void> {
  const { config } = await machine.configuration('active');
  await machine.apply({ config: Secret.of('machine-config', edit(config.expose())), mode: 'NO_REBOOT' });
}

/** The error of a call that must fail. */
export async function failureOf(promise: Promise<unknown>) {
  try {
    await promise;
  } catch (error) {
    if (isTalosError(error)) return error;
    throw error;
  }
  throw new Error('the call was expected to fail');
}

/**
 * Does something to a machine and says what moved because of it. Waits until everything in
 * `expected` has moved and the machine is at rest: nothing else moved for `quietMs`,
 * and its static pods, where one restarted, are ready again.
 */
export async function effectOf(
  machine: TalosMachine,
  kinds: Readonly<Record<string, ResourceKind<unknown>>>,
  options: { readonly act: () => Promise<unknown>; readonly expected: readonly string[]; readonly quietMs: number },
): Promise<string[]> {
  const before = await footprint(machine, kinds);
  await options.act();
  await until(`${options.expected.join(', ')} move on ${machine.name}`, 600_000, async () => {
    const names = moved(before, await footprint(machine, kinds));
    return options.expected.every((name) => names.includes(name));
  });
  if (options.expected.some((name) => name.startsWith('pod:'))) await podsReady(machine);
  return withoutLostLeases(moved(before, await atRest(machine, kinds, options.quietMs)), options.expected);
}

/**
 * What moved, without what a busy host alone may have moved: controller manager and
 * scheduler end and are started again when they cannot renew their lease in time.
 */
export function withoutLostLeases(names: readonly string[], expected: readonly string[]): string[] {
  return names.filter((name) => expected.includes(name) || !LEASE_HOLDERS.includes(name));
}

/** Waits until nothing of a machine has moved for a while; its footprint then. */
export async function atRest(
  machine: TalosMachine,
  kinds: Readonly<Record<string, ResourceKind<unknown>>>,
  quietMs: number,
): Promise<Footprint> {
  let last = await footprint(machine, kinds);
  let since = performance.now();
  await until(`${machine.name} is at rest`, 600_000, async () => {
    const now = await footprint(machine, kinds);
    if (moved(last, now).length > 0) since = performance.now();
    last = now;
    return performance.now() - since > quietMs;
  });
  return last;
}

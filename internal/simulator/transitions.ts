import type { Fingerprint } from '../../pkg/pki/index.ts';
import { later } from './later.ts';
import { bootIdOf, bump, minorOf, type SimMachine, viewOf } from './machine.ts';
import { materialOf, type OtherInputs, prints } from './material.ts';
import { startMember } from './membership.ts';
import { draw, type Span } from './timing.ts';
import type { World } from './world.ts';

/** Everything that Talos does to one machine by itself, in the order and with the pace of `talos-behaviour` 7. */

/** Stores a configuration as ApplyConfiguration does; the controllers take it up a moment later. */
export function storeConfiguration(
  world: World,
  machine: SimMachine,
  config: string,
  options: { staged: boolean },
): void {
  endTrial(machine);
  if (!machine.isStateFull) machine.persistent = config;
  bump(machine, 'MachineConfig/persistent');
  if (options.staged) void world.mint.learn?.(machine, config).catch(unlearned(world, machine));
  else activate(world, machine, config);
}

/**
 * Runs a configuration for a while, as mode TRY does; then the one before comes
 * back. Storing one meanwhile ends the trial, and staging one makes it last.
 */
export function tryConfiguration(world: World, machine: SimMachine, config: string, timeoutMs: number): void {
  endTrial(machine);
  const { boot, config: before } = machine;
  activate(world, machine, config);
  machine.endTrial = world.clock.schedule(timeoutMs, () => {
    machine.endTrial = undefined;
    if (machine.boot === boot) activate(world, machine, before);
  });
}

function endTrial(machine: SimMachine): void {
  machine.endTrial?.();
  machine.endTrial = undefined;
}

function activate(world: World, machine: SimMachine, config: string): void {
  const learned = world.mint.learn?.(machine, config);
  machine.config = config;
  machine.view = viewOf(config, machine.name);
  bump(machine, 'MachineConfig/active');
  later(world, machine, world.timing.controllers, () => {
    if (learned === undefined) {
      takeUp(world, machine);
      return;
    }
    const { boot } = machine;
    // A later configuration, or a boot, takes up what there is then.
    const isCurrent = (): boolean => machine.boot === boot && machine.config === config;
    learned.then(() => isCurrent() && takeUp(world, machine), unlearned(world, machine));
  });
}

/** A CA that nothing can be issued of: the controllers keep what they have, as Talos's do. */
function unlearned(world: World, machine: SimMachine): (error: unknown) => void {
  return (error) =>
    world.trace(`${machine.name} keeps its material: ${error instanceof Error ? error.message : error}`);
}

/** The controllers make new resources of what the configuration is now. */
export function takeUp(world: World, machine: SimMachine): void {
  const before = machine.taken;
  const next = materialOf(machine.view, minorOf(machine));
  machine.taken = next;
  const others = takeOthers(world, machine);
  world.trace(`${machine.name} took its configuration`);
  if (
    others.has('talos') ||
    prints(before.talos.accepted).join() !== prints(next.talos.accepted).join() ||
    before.talos.issuing?.fingerprint !== next.talos.issuing?.fingerprint
  ) {
    bump(machine, 'OSRoot');
    renewApi(world, machine);
  }
  if (others.has('kubelet') || prints(before.kubelet).join() !== prints(next.kubelet).join()) {
    bump(machine, 'KubeletSecrets');
    restartKubelet(world, machine);
  }
  const { plane } = machine;
  if (plane === undefined) return;
  if (others.has('kubernetes') || before.kubernetesKey !== next.kubernetesKey) {
    bump(machine, 'KubernetesRoot', 'KubernetesSecrets', 'KubernetesDynamicCerts', 'SecretStatus');
    restartStaticPods(world, machine);
  }
  // On a real machine kube-apiserver alone is started anew for it.
  if (before.apiServerPort !== next.apiServerPort) restartStaticPods(world, machine);
  if (etcdKey(before) !== etcdKey(next)) {
    bump(machine, 'EtcdRoot');
    // Certificate and key that do not fit stop the chain there: the old leaves stay.
    if (next.etcd?.signer !== undefined) {
      bump(machine, 'EtcdSecrets', 'PKIStatus');
      plane.etcdLeaf = next.etcd.signer;
    }
    world.etcd.update();
  }
}

/** Resources that follow from one input alone. */
const ALONE: readonly (readonly [keyof OtherInputs, readonly string[]])[] = [
  ['machineNames', ['CertSAN/api']],
  ['apiServerNames', ['CertSAN/k8s']],
  ['etcd', ['EtcdConfig', 'EtcdSpec']],
  ['encryption', ['EtcdEncryptionConfig']],
];

/** Takes up what a configuration says besides its CAs, and tells which of it is new. */
function takeOthers(world: World, machine: SimMachine): ReadonlySet<keyof OtherInputs> {
  const before = machine.others;
  const next = world.mint.otherInputs?.(machine.config);
  if (before === undefined || next === undefined) return new Set();
  // Rules that cannot be made into a file leave the file that is there.
  machine.others = { ...next, encryption: next.encryption ?? before.encryption };
  const differs = (name: keyof OtherInputs): boolean => machine.others?.[name] !== before[name];
  const changed = new Set((Object.keys(next) as (keyof OtherInputs)[]).filter(differs));
  for (const [name, types] of ALONE) if (changed.has(name)) bump(machine, ...types);
  return changed;
}

function etcdKey({ etcd }: SimMachine['taken']): string {
  return etcd === undefined ? '' : `${prints(etcd.bundle).join()} ${etcd.signer}`;
}

/** apid's certificate: a control plane signs its own, a worker asks the trustd of any control plane. */
function renewApi(world: World, machine: SimMachine): void {
  const { issuing, accepted } = machine.taken.talos;
  if (issuing !== undefined) {
    machine.api = { issuer: issuing.fingerprint, accepted };
    bump(machine, 'ApiCertificates', 'TrustdCertificates');
    return;
  }
  later(world, machine, world.timing.signing, () => askTrustd(world, machine));
}

function askTrustd(world: World, machine: SimMachine): void {
  const trusted = prints(machine.taken.talos.accepted);
  const answering = world
    .planes()
    .filter((plane) => plane.isUp && !plane.isCutOff && trusted.includes(plane.api.issuer));
  if (answering.length === 0) {
    later(world, machine, [3_000, 3_000], () => askTrustd(world, machine));
    return;
  }
  const plane = world.random(`${machine.name}/trustd/${world.clock.monotonic()}`).pick(answering);
  machine.api = { issuer: plane.api.issuer, accepted: plane.taken.talos.accepted };
  world.trace(`${machine.name} certificate by ${plane.name}`);
  bump(machine, 'ApiCertificates');
}

/** Stops the kubelet and starts it with what it should trust now; a client certificate of another CA is deleted. */
export function restartKubelet(world: World, machine: SimMachine): void {
  const { kubelet } = machine;
  kubelet.isRunning = false;
  kubelet.readyAt = Number.POSITIVE_INFINITY;
  later(world, machine, world.timing.kubeletStart, () => {
    if (kubelet.isRunning) return;
    kubelet.instance += 1;
    kubelet.startedAt = world.clock.now();
    kubelet.isRunning = true;
    kubelet.upstream = undefined;
    kubelet.trust = prints(machine.taken.kubelet);
    const random = world.random(`${machine.name}/kubelet/${kubelet.instance}`);
    kubelet.readyAt = world.clock.monotonic() + draw(random, world.timing.kubeletHealthy);
    if (kubelet.clientIssuer === undefined || !kubelet.trust.includes(kubelet.clientIssuer)) {
      // Also one that went down before its certificate came asks again.
      kubelet.clientIssuer = undefined;
      askForCertificate(world, machine);
    }
    world.trace(`${machine.name} kubelet started`);
    const beat = (): void => world.kubernetes.heartbeat(world, machine);
    later(world, machine, [500, 1_000], beat);
    const healthyMs = kubelet.readyAt - world.clock.monotonic();
    later(world, machine, [healthyMs, healthyMs + 500], beat);
  });
}

/** A kubelet without a client certificate asks with its bootstrap token; the leading controller manager signs. */
function askForCertificate(world: World, machine: SimMachine): void {
  later(world, machine, [1_000, 3_000], () => {
    const { kubelet } = machine;
    if (kubelet.clientIssuer !== undefined) return;
    const signer = world.kubernetes.leader(world)?.taken.kubernetes?.issuing.fingerprint;
    const isServed = world
      .planes()
      .some((plane) => isApiServerReady(world, plane) && kubelet.trust.includes(servingIssuer(plane)));
    if (kubelet.isRunning && signer !== undefined && isServed) {
      kubelet.clientIssuer = signer;
      kubelet.upstream = undefined;
      const [certificate] = world.mint.pair(signer, { machine, use: 'kubelet-client' }).certificates;
      if (certificate !== undefined)
        world.kubernetes.requests.push({ machine: machine.name, at: world.clock.now(), certificate });
      world.trace(`${machine.name} kubelet has a new client certificate`);
      world.kubernetes.heartbeat(world, machine);
    } else askForCertificate(world, machine);
  });
}

/** CA of the certificate that the API server of a control plane serves: its file is read again at once. */
export function servingIssuer(plane: SimMachine): Fingerprint {
  return plane.taken.kubernetes?.issuing.fingerprint ?? ('' as Fingerprint);
}

/** The kubelet sees within 20 s that the files changed and starts all three static pods anew. */
export function restartStaticPods(world: World, machine: SimMachine): void {
  const { plane } = machine;
  if (plane === undefined || plane.podsDue) return;
  plane.podsDue = true;
  later(world, machine, world.timing.staticPodPoll, () => {
    plane.podsDue = false;
    stopPods(machine);
    endpointsChanged(world, machine);
    world.trace(`${machine.name} static pods stopped`);
    later(world, machine, world.timing.podStop, () => startPods(world, machine));
  });
}

function stopPods({ plane, podsReady }: SimMachine): void {
  for (const process of plane === undefined ? [] : [plane.apiServer, plane.controllerManager, plane.scheduler]) {
    process.isRunning = false;
    process.readyAt = Number.POSITIVE_INFINITY;
  }
  for (const name of Object.keys(podsReady)) podsReady[name] = false;
}

function startPods(world: World, machine: SimMachine): void {
  const { plane } = machine;
  if (plane === undefined) return;
  if (!machine.kubelet.isRunning) {
    later(world, machine, [1_000, 1_000], () => startPods(world, machine));
    return;
  }
  const random = world.random(`${machine.name}/pods/${machine.boot}/${plane.apiServer.instance}`);
  for (const process of [plane.apiServer, plane.controllerManager, plane.scheduler]) {
    process.instance += 1;
    process.startedAt = world.clock.now();
    process.isRunning = true;
    process.readyAt = world.clock.monotonic() + draw(random, world.timing.podStart);
  }
  plane.apiServer.etcdPool = prints(machine.taken.etcd?.bundle ?? []);
  plane.apiServer.etcdLink = undefined;
  plane.apiServer.port = machine.taken.apiServerPort ?? 0;
  plane.apiServer.isFrozen = false;
  plane.controllerManager.rootCa = machine.taken.kubernetes?.issuing;
  world.trace(`${machine.name} static pods started`);
  const readyMs = plane.apiServer.readyAt - world.clock.monotonic();
  later(world, machine, [readyMs, readyMs], () => endpointsChanged(world, machine));
}

/**
 * A kube-apiserver takes itself out of the Endpoints when it ends in order, and is there again when it is
 * ready. A worker learns that from another one, and has its certificate made anew by some trustd: it may be
 * issued, and told whom to accept, as that control plane is by then (docs/reference/talos-observed.md).
 */
function endpointsChanged(world: World, ofPlane: SimMachine): void {
  if (!world.planes().some((plane) => plane !== ofPlane && isListening(world, plane))) return;
  for (const machine of world.machines()) {
    if (machine.role !== 'worker' || !machine.isUp || machine.isCutOff) continue;
    later(world, machine, world.timing.signing, () => askTrustd(world, machine));
  }
}

/** Whether the API server of a machine answers `/readyz` now; opens its connection to etcd where it has none. */
export function isApiServerReady(world: World, machine: SimMachine): boolean {
  return machine.plane?.apiServer.isFrozen !== true && isListening(world, machine) && reachesEtcd(world, machine);
}

/** Whether the API server's process takes requests at all. */
export function isListening(world: World, { plane, isUp, isCutOff }: SimMachine): boolean {
  return plane?.apiServer.isRunning === true && isUp && !isCutOff && world.clock.monotonic() >= plane.apiServer.readyAt;
}

/** Whether the API server has, or gets, a connection to the etcd of its machine, and that serves. */
export function reachesEtcd(world: World, machine: SimMachine): boolean {
  const { plane } = machine;
  if (plane === undefined || !world.etcd.isHealthy(machine)) return false;
  const { apiServer, etcd } = plane;
  if (apiServer.etcdLink === etcd.instance) return true;
  if (!apiServer.etcdPool.includes(plane.etcdLeaf) || !etcd.pool.includes(plane.etcdLeaf)) return false;
  apiServer.etcdLink = etcd.instance;
  return true;
}

/** Begins a reboot: the API goes away after a moment and comes back in another boot. */
export function beginReboot(world: World, machine: SimMachine): void {
  if (machine.isRebooting) return;
  machine.isRebooting = true;
  world.trace(`${machine.name} reboot begins`);
  later(world, machine, world.timing.shutdown, () => {
    // etcd hands over by itself when it is stopped in order (`talos-behaviour` 4.1).
    world.etcd.forfeit(machine);
    endpointsChanged(world, machine);
    powerOff(world, machine, world.timing.boot);
  });
}

/** Takes a machine away, and brings it back after `boot`; never where that is undefined. */
export function powerOff(world: World, machine: SimMachine, boot: Span | undefined): void {
  endTrial(machine);
  machine.isUp = false;
  machine.boot += 1;
  machine.isRebooting = true;
  stopPods(machine);
  for (const process of [machine.kubelet, machine.plane?.etcd]) {
    if (process === undefined) continue;
    process.isRunning = false;
    process.readyAt = Number.POSITIVE_INFINITY;
  }
  world.etcd.update();
  world.trace(`${machine.name} down`);
  if (boot !== undefined) later(world, machine, boot, () => powerOn(world, machine));
}

/** A boot: everything is read anew from what the machine stores. */
export function powerOn(world: World, machine: SimMachine): void {
  if (machine.isUp) return;
  machine.isUp = true;
  machine.upSince = world.clock.now();
  machine.isRebooting = false;
  machine.bootId = bootIdOf(machine.name, machine.boot, machine.node?.uid ?? machine.name);
  machine.config = machine.persistent;
  machine.view = viewOf(machine.config, machine.name);
  machine.versions.clear();
  machine.taken = materialOf(machine.view, minorOf(machine));
  machine.others = world.mint.otherInputs?.(machine.config);
  if (machine.plane !== undefined) machine.plane.podsDue = false;
  renewApi(world, machine);
  world.trace(`${machine.name} up in boot ${machine.boot}`);
  restartKubelet(world, machine);
  const { plane } = machine;
  if (plane === undefined) return;
  if (machine.taken.etcd?.signer !== undefined) plane.etcdLeaf = machine.taken.etcd.signer;
  later(world, machine, world.timing.etcdStart, () =>
    startMember(world, machine, () =>
      later(world, machine, world.timing.podsAfterBoot, () => startPods(world, machine)),
    ),
  );
}

import type { Certificate } from '../../pkg/pki/index.ts';
import type { History } from './kube/history.ts';
import { BORN_NAMESPACES, type NamespaceState } from './kube/namespaces.ts';
import { createStorage, type Storage } from './kube/storage.ts';
import { type NodeState, newNode, type SimMachine } from './machine.ts';
import { isApiServerReady, servingIssuer } from './transitions.ts';
import { createWorkloads, type Workloads } from './workloads.ts';
import type { World } from './world.ts';

/** `kube-system/extension-apiserver-authentication`: what every API server adds its CAs to. */
export interface AuthenticationMap {
  readonly uid: string;
  requestheader: readonly Certificate[];
  client: readonly Certificate[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A certificate that a kubelet asked for and was given. */
export interface SignedRequest {
  readonly machine: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly certificate: Certificate;
}

/** What Kubernetes stores, and the controllers that change it. Which API server answers is the API's business. */
export interface SimKubernetes {
  readonly workloads: Workloads;
  /** `kube-root-ca.crt` by namespace, in PEM. */
  readonly rootCas: Map<string, string>;
  authentication: AuthenticationMap | undefined;
  /** What was said about namespaces; one that is not there is as old as the cluster. */
  readonly namespaces: Map<string, NamespaceState>;
  /** Objects that only clients know the meaning of. */
  readonly storage: Storage;
  /** Versions and changes of every object, once somebody watches. */
  history: History | undefined;
  /** Certificates that kubelets were given, the newest last. */
  readonly requests: SignedRequest[];
  begin(world: World): void;
  /** The kubelet renews its Lease and its Node's status, if any API server takes it. */
  heartbeat(world: World, machine: SimMachine): void;
  /** Machine whose controller manager leads. */
  leader(world: World): SimMachine | undefined;
  /** Who holds the Lease of the controller manager, whether it works or not. */
  lead(): { readonly name: string; readonly instance: number } | undefined;
  /** One look of the controller manager: leadership, root CAs, lost Nodes. Every two seconds. */
  control(world: World): void;
  /** Every API server adds what it accepts; a missing map is written by the first alone. */
  publish(world: World, servers: readonly SimMachine[]): void;
  deleteAuthentication(world: World): void;
}

/** A leader that is gone is replaced when its lease has run out. */
const LEASE_MS = 15_000;
/** Measured: a fresh start publishes in 7 s. */
const PUBLISH_MS = 5_000;
const NODE_GRACE_MS = 40_000;
/** A kubelet writes its status that often when there is no news. */
const REPORT_MS = 300_000;

/** Kubernetes of a healthy cluster. */
export function createKubernetes(): SimKubernetes {
  let lead: { name: string; instance: number; since: number; seenAt: number } | undefined;
  let maps = 0;

  function isLeading(world: World, machine: SimMachine | undefined): boolean {
    const manager = machine?.plane?.controllerManager;
    return (
      machine !== undefined &&
      manager?.isRunning === true &&
      world.clock.monotonic() >= manager.readyAt &&
      isApiServerReady(world, machine)
    );
  }

  function lookForLeader(world: World): void {
    const now = world.clock.monotonic();
    const current = world.find(lead?.name ?? '');
    if (
      lead !== undefined &&
      isLeading(world, current) &&
      current?.plane?.controllerManager.instance === lead.instance
    ) {
      lead.seenAt = now;
      return;
    }
    if (lead !== undefined && now - lead.seenAt < LEASE_MS * world.timing.pace) return;
    const candidates = world.planes().filter((machine) => isLeading(world, machine));
    if (candidates.length === 0) return;
    const next = world.random(`leader/${now}`).pick(candidates);
    lead = { name: next.name, instance: next.plane?.controllerManager.instance ?? 0, since: now, seenAt: now };
  }

  const kubernetes: SimKubernetes = {
    workloads: createWorkloads(),
    rootCas: new Map(),
    authentication: undefined,
    namespaces: new Map(),
    storage: createStorage(),
    history: undefined,
    requests: [],
    lead: () => lead,
    begin(world) {
      const { kubernetes: ca, aggregator } = world.bundle;
      for (const name of BORN_NAMESPACES) kubernetes.rootCas.set(name, ca.certificate.pem);
      const createdAt = world.clock.now();
      const requestheader = [aggregator.certificate];
      kubernetes.authentication = { uid: 'map-0', requestheader, client: [ca.certificate], createdAt };
      kubernetes.workloads.begin(world);
      lookForLeader(world);
    },
    heartbeat(world, machine) {
      const { kubelet } = machine;
      if (!machine.isUp || machine.isCutOff || !kubelet.isRunning || machine.isStandalone) return;
      if (!isServed(world, machine)) {
        // A heartbeat that fails again closes every connection of the kubelet (`onRepeatedHeartbeatFailure`).
        kubelet.upstream = undefined;
        return;
      }
      machine.node ??= register(world, machine);
      const { node } = machine;
      node.leaseAt = world.clock.now();
      node.beatAt = world.clock.monotonic();
      // A kubelet that only restarts does not make its Node unready; one that boots does until it is well.
      const isHealthy = world.clock.monotonic() >= kubelet.readyAt;
      const isNewBoot = node.bootId !== machine.bootId;
      if (isHealthy) tellReady(world, node, 'True');
      else if (isNewBoot) tellReady(world, node, 'False');
      if (isNewBoot) node.resourceVersion += 1;
      node.bootId = machine.bootId;
      if (isNewBoot || node.leaseAt - node.reportedAt >= REPORT_MS) node.reportedAt = node.leaseAt;
      tellPods(world, machine);
    },
    leader: (world) => {
      const machine = world.find(lead?.name ?? '');
      return isLeading(world, machine) && machine?.plane?.controllerManager.instance === lead?.instance
        ? machine
        : undefined;
    },
    control(world) {
      lookForLeader(world);
      const machine = kubernetes.leader(world);
      if (machine === undefined || lead === undefined) return;
      const root = machine.plane?.controllerManager.rootCa;
      if (root !== undefined && world.clock.monotonic() - lead.since >= PUBLISH_MS * world.timing.pace) {
        for (const name of kubernetes.rootCas.keys()) kubernetes.rootCas.set(name, root.pem);
      }
      for (const { node } of world.machines()) {
        if (node !== undefined && world.clock.now() - node.leaseAt > NODE_GRACE_MS) tellReady(world, node, 'Unknown');
      }
      kubernetes.workloads.control(world);
    },
    publish(world, servers) {
      for (const machine of servers) {
        if (!isApiServerReady(world, machine)) continue;
        const client = machine.taken.kubernetes?.accepted ?? [];
        const requestheader = machine.taken.aggregator?.accepted ?? [];
        const map = kubernetes.authentication;
        if (map === undefined) {
          maps += 1;
          kubernetes.authentication = {
            uid: `map-${maps}`,
            client: [...client],
            requestheader: [...requestheader],
            createdAt: world.clock.now(),
          };
          continue;
        }
        map.client = union(map.client, client);
        map.requestheader = union(map.requestheader, requestheader);
      }
    },
    deleteAuthentication(world) {
      kubernetes.authentication = undefined;
      world.trace('authentication map deleted');
      world.clock.schedule(100, () => {
        const ready = world.planes().filter((machine) => isApiServerReady(world, machine));
        if (ready.length > 0) kubernetes.publish(world, [world.random(`map/${world.clock.monotonic()}`).pick(ready)]);
      });
    },
  };
  return kubernetes;
}

/** The same list where nothing is new. */
function union(present: readonly Certificate[], added: readonly Certificate[]): readonly Certificate[] {
  const news = added.filter((each) => !present.some((other) => other.fingerprint === each.fingerprint));
  return news.length === 0 ? present : [...present, ...news];
}

/**
 * Whether the API server that the kubelet is connected to takes it. KubePrism
 * gives it any that is ready, knows nothing of refusals, and the connection
 * stays until the process at its other end is gone.
 */
function isServed(world: World, machine: SimMachine): boolean {
  const { kubelet } = machine;
  const plane = upstreamOf(world, machine);
  const accepted = plane?.taken.kubernetes?.accepted ?? [];
  return accepted.some((ca) => ca.fingerprint === kubelet.clientIssuer);
}

function upstreamOf(world: World, { name, kubelet }: SimMachine): SimMachine | undefined {
  const current = world.find(kubelet.upstream?.name ?? '');
  const isSame = current?.plane?.apiServer.instance === kubelet.upstream?.instance;
  if (current !== undefined && isSame && isApiServerReady(world, current)) return current;
  const ready = world
    .planes()
    .filter((plane) => isApiServerReady(world, plane) && kubelet.trust.includes(servingIssuer(plane)));
  kubelet.upstream = undefined;
  if (ready.length === 0) return undefined;
  const next = world.random(`${name}/upstream/${world.clock.monotonic()}`).pick(ready);
  kubelet.upstream = { name: next.name, instance: next.plane?.apiServer.instance ?? 0 };
  return next;
}

/** The Node of a kubelet that is new to the cluster. */
function register(world: World, { name, boot, bootId }: SimMachine): NodeState {
  world.trace(`${name} has a Node`);
  const [now, elapsed] = [world.clock.now(), world.clock.monotonic()];
  return newNode({ uid: `node-${name}-${boot}`, bootId, ready: 'False', now, elapsed });
}

function tellReady(world: World, node: NodeState, ready: NodeState['ready']): void {
  if (node.ready === ready) return;
  node.ready = ready;
  node.readySince = world.clock.now();
  node.reportedAt = node.readySince;
}

function tellPods(world: World, machine: SimMachine): void {
  const { plane, podsReady } = machine;
  if (plane === undefined) return;
  const now = world.clock.monotonic();
  podsReady['kube-apiserver'] = isApiServerReady(world, machine);
  podsReady['kube-controller-manager'] = plane.controllerManager.isRunning && now >= plane.controllerManager.readyAt;
  podsReady['kube-scheduler'] = plane.scheduler.isRunning && now >= plane.scheduler.readyAt;
}

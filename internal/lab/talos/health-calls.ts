import { ClusterServiceService, type HealthCheckProgress } from '../../../proto/generated/talos/cluster.ts';
import { isApiServerReady, type SimMachine } from '../../simulator/index.ts';
import type { LabWorld } from '../served.ts';
import { CODE, GrpcError, type Route, streaming } from './grpc.ts';
import type { Session } from './session.ts';

/** One thing that has to hold; undefined where it does, else what is found. */
type Check = readonly [name: string, look: (lab: LabWorld, machines: readonly SimMachine[]) => string | undefined];

/** Checks of `talosctl health` in its order (`pkg/cluster/check/default.go`), as far as a lab has what they look at. */
const CHECKS: readonly Check[] = [
  ['etcd to be healthy', (lab) => named(lab.world.planes(), (plane) => lab.world.etcd.isHealthy(plane))],
  [
    'etcd members to be control plane nodes',
    ({ world }) => {
      const members = new Set(world.etcd.members.map(({ name }) => name));
      return named(world.planes(), ({ name }) => members.has(name));
    },
  ],
  ['apid to be ready', (_lab, machines) => named(machines, ({ isUp, isCutOff }) => isUp && !isCutOff)],
  [
    'kubelet to be healthy',
    ({ world }, machines) =>
      named(machines, ({ kubelet }) => kubelet.isRunning && world.clock.monotonic() >= kubelet.readyAt),
  ],
  ['all nodes to finish boot sequence', (_lab, machines) => named(machines, ({ isRebooting }) => !isRebooting)],
  ['all k8s nodes to report', (_lab, machines) => named(machines, ({ node }) => node !== undefined)],
  [
    'all control plane static pods to be running',
    (lab) => named(lab.world.planes(), (plane) => isApiServerReady(lab.world, plane)),
  ],
  [
    'all control plane components to be ready',
    (lab) => named(lab.world.planes(), ({ podsReady }) => Object.values(podsReady).every(Boolean)),
  ],
  ['all k8s nodes to report ready', (_lab, machines) => named(machines, ({ node }) => node?.ready === 'True')],
  [
    'all k8s nodes to report schedulable',
    (_lab, machines) => named(machines, ({ node }) => node?.unschedulable !== true),
  ],
];

const POLL_MS = 500;
/** `talosctl health` waits this long unless told otherwise. */
const WAIT_MS = 20 * 60_000;

/** The checks of the whole cluster, made by one machine. */
export const HEALTH_ROUTES: readonly Route<Session>[] = [
  streaming(ClusterServiceService.healthCheck, async function* ({ boot }: Session, { waitTimeout, clusterInfo }, call) {
    const { lab } = boot;
    const asked = [...(clusterInfo?.controlPlaneNodes ?? []), ...(clusterInfo?.workerNodes ?? [])];
    const machines = lab.world.machines().filter(({ address }) => asked.length === 0 || asked.includes(address));
    const waitMs = waitTimeout === undefined ? WAIT_MS : Number(waitTimeout.seconds) * 1_000;
    const end = performance.now() + waitMs;
    yield said(`discovered nodes: [${machines.map(({ address }) => JSON.stringify(address)).join(' ')}]`);
    for (const [name, look] of CHECKS) {
      let told = '...';
      yield said(`waiting for ${name}: ${told}`);
      for (let found = look(lab, machines); found !== undefined; found = look(lab, machines)) {
        if (found !== told) yield said(`waiting for ${name}: ${found}`);
        told = found;
        if (performance.now() > end) throw new GrpcError(CODE.deadlineExceeded, `${name}: ${found}`);
        await lab.world.clock.sleep(POLL_MS, call.signal);
      }
      yield said(`waiting for ${name}: OK`);
    }
  }),
];

function said(message: string): HealthCheckProgress {
  return { metadata: undefined, message };
}

/** The addresses of those for which it does not hold. */
function named(machines: readonly SimMachine[], holds: (machine: SimMachine) => boolean): string | undefined {
  const failing = machines.filter((machine) => !holds(machine)).map(({ address }) => address);
  return failing.length === 0 ? undefined : `not so on ${failing.join(', ')}`;
}

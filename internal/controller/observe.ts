import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import { isAtLeast } from '../../api/v1alpha1/index.ts';
import type { Clock } from '../../pkg/clock/index.ts';
import type { Certificate, Fingerprint } from '../../pkg/pki/index.ts';
import { needsOf } from '../rotation/decide.ts';
import type { MachineObservation, Observation, Reading } from '../rotation/observation.ts';
import { createHeartbeats, type Heartbeats } from './heartbeats.ts';
import { authoritiesOf, type Identities } from './identities.ts';
import { type ListedMachine, listMachines } from './machines.ts';
import { changesOf, observeStore, ownersOf } from './material.ts';
import { observeKubernetes } from './observe-kubernetes.ts';
import { observeMachine, signedBy } from './observe-machine.ts';
import { locate, observeRefusals } from './observe-refusals.ts';
import { createOperationTime, type OperationTime } from './operation-time.ts';
import type { ClusterState, Ports } from './ports.ts';
import type { Session } from './session.ts';
import { type ConfigReader, createConfigReader, replacedBy } from './standing.ts';
import { lookForUnlisted, type Silent } from './unlisted.ts';

/** What one run remembers between observations; all of it can be read again. */
export interface Memory {
  machines: readonly ListedMachine[];
  readonly configs: ConfigReader;
  readonly heartbeats: Heartbeats;
  readonly time: OperationTime;
  readonly silent: Silent;
}

/** Nothing remembered yet. */
export function createMemory(clock: Clock, configs: ConfigReader = createConfigReader()): Memory {
  return {
    machines: [],
    configs,
    heartbeats: createHeartbeats(clock),
    time: createOperationTime(clock),
    silent: new Map(),
  };
}

/** Everything that an observation is made with. */
export interface ObserveInput {
  readonly ports: Ports;
  readonly session: Session;
  readonly identities: Identities;
  readonly memory: Memory;
  readonly operation: TalosOperation;
}

/** One immutable picture of the cluster, together with the state that it was compared with. */
export interface Observed {
  readonly observation: Observation;
  readonly state: ClusterState;
  readonly machines: readonly ListedMachine[];
  /** How much the wall clock was ahead of the operation's time when the look began, milliseconds; below 0 where it was behind. */
  readonly aheadMs: number;
  /** The operation's time when the look began: nothing in the picture is older. */
  readonly startedAt: number;
  /** Reads one of the machines once more. */
  readonly lookAgain: (machine: string) => Promise<MachineObservation | undefined>;
}

/** Looks at the store and at every machine, each over its own APIs, and at what the next decision needs beyond that. */
export async function observe(input: ObserveInput): Promise<Observed> {
  const { ports, session, memory, operation } = input;
  const startedAt = memory.time.now(operation);
  const aheadMs = ports.clock.now() - startedAt;
  const state = await ports.store.readState();
  const preferNew = isAtLeast(operation.status.stage, 'Issuing');
  session.use(await input.identities.talos(state, preferNew));
  const list = await listMachines(session, memory.machines, await ports.store.endpoints());
  memory.machines = list.machines;
  const now = ports.clock.now();
  const operations = await ports.store.listOperations();
  const others = operations.filter((each) => isOther(each, operation)).map((each) => each.metadata.name);
  const replaced = replacedBy(operations);
  const store = observeStore(state, { now, operation, otherOperations: others });
  const needs = needsOf({ operation, store });
  const owners = ownersOf(state, operation);
  const { silent } = memory;
  const unlistedBeside = needs.unlisted
    ? lookForUnlisted({ session, clock: ports.clock, silent, machines: list.machines })
    : undefined;
  const { configs, heartbeats } = memory;
  async function lookAt(machine: ListedMachine): Promise<MachineObservation> {
    const seen = await observeMachine({ session, state, machine, configs, replaced, heartbeats, now, owners });
    if (!needs.etcdServed || machine.role !== 'controlplane') return seen;
    return { ...seen, etcdServed: await observeServed(ports, state, machine) };
  }
  const machines = await Promise.all(list.machines.map(lookAt));
  const ready = machines.filter((machine) => machine.apiServer?.known === true && machine.apiServer.value.ready);
  const kubernetes = await observeKubernetes({
    session,
    ask: [...ready, ...machines.filter((machine) => machine.role === 'controlplane' && !ready.includes(machine))],
    machines: machines.map(({ name }) => name),
    needs,
    operation,
    aheadMs: Math.max(0, ports.clock.now() - memory.time.now(operation)),
    rootCa: changesOf(state).find((change) => change.target === 'kubernetes')?.new.certificate.fingerprint,
    talosCas: changesOf(state)
      .filter((change) => change.target === 'talos')
      .flatMap((change) => [change.old.certificate, change.new.certificate]),
  });
  const refusals =
    needs.refusals && isSettled(operation, needs)
      ? await observeRefusals({
          connections: ports.connections,
          clock: ports.clock,
          state,
          machines: machines.map(locate),
          issueLeaf: input.identities.issue,
        })
      : undefined;
  const unlisted = await unlistedBeside?.(machines);
  const observation: Observation = {
    now: memory.time.now(operation),
    watchedSince: memory.time.since(operation),
    operation,
    store,
    machines,
    kubernetes,
    ...(list.incomplete === undefined ? {} : { machinesIncomplete: list.incomplete }),
    ...(unlisted === undefined ? {} : { unlisted }),
    ...(refusals === undefined ? {} : { refusals }),
  };
  return {
    ...{ observation, state, machines: list.machines, aheadMs, startedAt },
    lookAgain: async (name) => {
      const machine = list.machines.find((each) => each.name === name);
      return machine === undefined ? undefined : lookAt(machine);
    },
  };
}

/** Old credentials are tried last: some twenty handshakes a look are too many while the API servers still settle. */
function isSettled({ status }: TalosOperation, needs: { readonly authentication: boolean }): boolean {
  return (
    !needs.authentication ||
    status.conditions.some((each) => each.type === 'AuthenticationReset' && each.status === 'True')
  );
}

function isOther(each: TalosOperation, operation: TalosOperation): boolean {
  return (
    each.metadata.uid !== operation.metadata.uid && each.status.phase !== 'Completed' && each.status.phase !== 'Pending'
  );
}

/** Who signed the leaves that etcd serves on 2379 and 2380 now, over new connections. */
async function observeServed(ports: Ports, state: ClusterState, machine: ListedMachine) {
  const authorities = authoritiesOf(state, 'etcd');
  const [client, peer] = await Promise.all([2379, 2380].map((port) => servedIssuer(ports, machine, port, authorities)));
  if (client?.known !== true) return client ?? unread();
  if (peer?.known !== true) return peer ?? unread();
  return { known: true as const, value: { client: client.value, peer: peer.value } };
}

function unread(): Extract<Reading<never>, { known: false }> {
  return { known: false, why: 'failed', message: 'not read' };
}

async function servedIssuer(
  ports: Ports,
  { address }: ListedMachine,
  port: number,
  authorities: readonly Certificate[],
): Promise<Reading<Fingerprint | undefined>> {
  // Which certificate is served is all that is asked: etcd refuses a connection that shows none, after showing its own.
  const { chain, verdict, detail } = await ports.connections.probeTls({ host: address, port, trust: authorities });
  const [leaf] = chain;
  if (leaf === undefined) return { known: false, why: 'unreachable', message: `${verdict}: ${detail}` };
  return { known: true, value: authorities.find((authority) => signedBy(leaf, authority))?.fingerprint };
}

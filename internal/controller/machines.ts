import { listNodes, type NodeView } from '../../pkg/kube/index.ts';
import type { Reading } from '../rotation/observation.ts';
import type { MachineRef, Session } from './session.ts';
import { readingOf } from './unknown.ts';

/** One machine of the live list. */
export interface ListedMachine extends MachineRef {
  readonly role: 'controlplane' | 'worker';
  readonly node: NodeView | undefined;
}

/** The live list of machines, and why it may not be complete. */
export interface MachineList {
  readonly machines: readonly ListedMachine[];
  readonly incomplete: string | undefined;
}

/**
 * Lists the machines from Kubernetes, asked through each control plane in turn
 * until one answers. Discovery may be off, reduced or stale (P10): it is only asked
 * whom this list lacks (`unlisted.ts`), and the gates compare the control planes with
 * etcd's members. Where no API server answers, the machines of the last list are kept
 * and the list counts as incomplete.
 */
export async function listMachines(
  session: Session,
  known: readonly ListedMachine[],
  endpoints: readonly string[],
): Promise<MachineList> {
  const reading = await firstAnswer(session, candidates(known, endpoints));
  if (!reading.known) return { machines: known, incomplete: `no API server listed the Nodes: ${reading.message}` };
  const machines = reading.value.flatMap((node): ListedMachine[] => {
    const [address] = node.internalIps;
    if (address === undefined) return [];
    return [{ name: node.name, address, role: node.isControlPlane ? 'controlplane' : 'worker', node }];
  });
  const homeless = reading.value.filter((node) => node.internalIps.length === 0).map((node) => node.name);
  return {
    machines: sortMachines(machines),
    incomplete: homeless.length > 0 ? `Nodes without an address: ${homeless.join(', ')}` : undefined,
  };
}

async function firstAnswer(session: Session, asked: readonly MachineRef[]): Promise<Reading<readonly NodeView[]>> {
  let last: Reading<readonly NodeView[]> = { known: false, why: 'failed', message: 'no control plane is known' };
  for (const machine of asked) {
    last = await readingOf(() => session.kube(machine, (client) => listNodes(client)));
    if (last.known) return last;
  }
  return last;
}

function candidates(known: readonly ListedMachine[], endpoints: readonly string[]): MachineRef[] {
  const planes: MachineRef[] = known.filter((machine) => machine.role === 'controlplane');
  const seen = new Set(planes.map((machine) => machine.address));
  return [
    ...planes,
    ...endpoints.filter((address) => !seen.has(address)).map((address) => ({ name: address, address })),
  ];
}

/** Control planes first, each group by name. */
function sortMachines(machines: readonly ListedMachine[]): ListedMachine[] {
  return [...machines].sort((a, b) =>
    a.role === b.role ? (a.name < b.name ? -1 : 1) : a.role === 'controlplane' ? -1 : 1,
  );
}

import type { Clock } from '../../pkg/clock/index.ts';
import { isTalosError, MEMBER, type Member, type Resource } from '../../pkg/talos/index.ts';
import type { MachineObservation, Reading, UnlistedMachine } from '../rotation/observation.ts';
import type { ListedMachine } from './machines.ts';
import type { Session } from './session.ts';
import { readingOf } from './unknown.ts';

/** Members of discovery that were asked in vain, and when, on the monotonic clock. */
export type Silent = Map<string, number>;

/** What machines without a Node are looked for with. */
export interface UnlistedInput {
  readonly session: Session;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly silent: Silent;
  readonly machines: readonly ListedMachine[];
}

/** A member that is in no list, and what was heard of it. */
interface Candidate extends UnlistedMachine {
  /** Absent where it does not answer, or refuses us. */
  readonly bootId?: string;
}

/** How long one answer may take: every look waits for it. */
const ASK_MS = 3_000;

/** After how long one that did not answer is asked again. Machines that an autoscaler has removed stay in discovery for half an hour. */
const ASK_AGAIN_MS = 30_000;

/**
 * Begins to ask discovery for machines that have no Node, beside the other readings of a look. What it
 * returns leaves out those of these machines that are in the list under another name and address.
 */
export function lookForUnlisted(
  input: UnlistedInput,
): (seen: readonly MachineObservation[]) => Promise<Reading<readonly UnlistedMachine[]>> {
  const begun = readingOf(() => candidatesOf(input));
  return async (seen) => {
    const reading = await begun;
    if (!reading.known) return reading;
    const boots = new Set(seen.flatMap(({ talos }) => (talos.known ? [talos.value.bootId] : [])));
    const unlisted = reading.value.filter(({ bootId }) => bootId === undefined || !boots.has(bootId));
    return { known: true, value: unlisted.map(({ name, address, answers }) => ({ name, address, answers })) };
  };
}

/** Each control plane is asked: one that has just booted knows nobody but itself. Throws where they do not even name the list. */
async function candidatesOf(input: UnlistedInput): Promise<readonly Candidate[]> {
  const { session, machines } = input;
  const planes = machines.filter(({ role }) => role === 'controlplane');
  const readings = await Promise.all(
    planes.map((each) => readingOf(() => session.talos(each, (it) => it.list(MEMBER, { deadlineMs: ASK_MS })))),
  );
  const members = new Map(
    readings.flatMap((each) => (each.known ? each.value.map((member) => [member.metadata.id, member] as const) : [])),
  );
  const named = machines.filter(({ name }) => members.has(name)).length;
  const strangers = [...members.values()].filter((member) => !isListed(member, machines));
  // Who is named counts even where others are missing.
  if (named < machines.length && strangers.length === 0) {
    throw new Error(`discovery names ${named} of the ${machines.length} machines in the list`);
  }
  return Promise.all(strangers.map((member) => ask(input, member)));
}

function isListed({ metadata, spec }: Resource<Member>, machines: readonly ListedMachine[]): boolean {
  return machines.some(({ name, address, node }) => {
    const addresses = node?.internalIps ?? [address];
    return name === metadata.id || spec.addresses.some((each) => addresses.includes(each));
  });
}

async function ask({ session, clock, silent }: UnlistedInput, member: Resource<Member>): Promise<Candidate> {
  const { id: name } = member.metadata;
  const { addresses } = member.spec;
  const unheard = { name, address: addresses.join(', '), answers: false };
  const key = `${name} ${unheard.address}`;
  const before = silent.get(key);
  if (before !== undefined && clock.monotonic() - before < ASK_AGAIN_MS) return unheard;
  const answers = await Promise.all(addresses.map((address) => askAt(session, { name, address })));
  const found = answers.find((each) => each !== undefined);
  if (found === undefined) silent.set(key, clock.monotonic());
  else silent.delete(key);
  return found ?? unheard;
}

/** Whoever shows a certificate of this cluster is of it, also when it refuses ours. */
async function askAt(session: Session, at: { name: string; address: string }): Promise<Candidate | undefined> {
  try {
    const bootId = await session.talos(at, (client) => client.bootId({ deadlineMs: ASK_MS }));
    return { ...at, answers: true, bootId };
  } catch (error) {
    return isTalosError(error, 'untrusted-client') ? { ...at, answers: true } : undefined;
  }
}

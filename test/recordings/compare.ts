import { withoutLostLeases } from '../conformance/talos/subject.ts';
import type { Facts, RecordedEnd, RecordedStep, Recording, WatchedRecording } from './recording.ts';

/**
 * How a replay differs from what was recorded, one sentence each; empty where it is the same. Compared are
 *
 * - every effect by stage, kind and machine, in one order over all machines: production leaves none of it open (within a
 *   group by name, workers one first and then a few at a time, which is one effect);
 * - what each configuration and each reboot moved on its machine;
 * - what the machine then held, served and let in;
 * - the end: bundle, boots, Nodes, configurations, facts and what Kubernetes publishes.
 *
 * A fact that the recording says it lacks is not compared; any other that could not be found out (`?`) is a difference.
 * A recording out of a trail alone has nothing of its machines: then the order is compared, and no more.
 *
 * What may differ, and why:
 *
 * - times, and how often something is looked at or tried: they depend on the host;
 * - whether and how often a control plane is drained: it depends on the pods on it, which no recording holds;
 * - whether it is asked to give up etcd's leadership: who leads is chance. Both come, where they come, after the cordon
 *   and before the reboot of their machine;
 * - the engine's notes in its own status (`update-status`): they change nothing in the cluster;
 * - which control plane is told last in Dropping of the Kubernetes CA: the one whose kube-controller-manager leads, which is chance;
 * - how long a kubelet waits for a client certificate of the new CA (nobody signs while that leader restarts): what it shows is
 *   compared once it has one;
 * - what a worker's apid serves and accepts between two effects on that worker, where there are several control planes: it has
 *   its certificate made anew whenever a kube-apiserver leaves or comes back, and which trustd answers, told of the stage or not
 *   yet, is chance. How it is in the end is no chance;
 * - restarts of kube-controller-manager and kube-scheduler without kube-apiserver: both end when they cannot renew their Lease in
 *   time, as on a busy host.
 */
export function differences(recorded: Recording, replayed: WatchedRecording): string[] {
  const [was, is] = [withoutChance(recorded), withoutChance(replayed)];
  const found = [
    ...differ('the cluster', clusterOf(recorded), clusterOf(replayed)),
    ...orderDifferences(recorded, replayed),
    ...misplaced(recorded.steps, 'recorded'),
    ...misplaced(replayed.steps, 'replayed'),
    ...beforehandDifferences(was, is),
    ...effectDifferences(was.steps, is.steps),
    ...(recorded.end === undefined ? [] : endDifferences(recorded.end, replayed.end)),
  ];
  const lacking = Object.keys(recorded.lacks ?? {});
  return found.filter((each) => !lacking.some((name) => each.includes(`: ${name}: recorded `)));
}

/** The issuer of a kubelet's client certificate, and what it is while it has none. */
const [SHOWN, NONE] = ['kubelet shows', '-'];

/** What the trustd of one control plane or another made of a worker's apid. */
const BY_SOME_TRUSTD: readonly string[] = ['apid certificate', 'apid accepted', 'apid serves', 'apid takes'];

/** A recording without the facts that are chance until the end. */
function withoutChance<T extends Pick<Recording, 'machines' | 'before' | 'steps'>>(recording: T): T {
  const planes = planesOf(recording.machines);
  if (planes.length < 2) return recording;
  const without = (machine: string | undefined, facts: Facts): Facts =>
    machine === undefined || planes.includes(machine)
      ? facts
      : Object.fromEntries(Object.entries(facts).filter(([name]) => !BY_SOME_TRUSTD.includes(name)));
  return {
    ...recording,
    before: Object.fromEntries(
      Object.entries(recording.before ?? {}).map(([machine, facts]) => [machine, without(machine, facts)]),
    ),
    steps: recording.steps.map((step) =>
      step.became === undefined ? step : { ...step, became: without(step.machine, step.became) },
    ),
  };
}

function clusterOf({ talosVersion, shape, machines, options }: Recording): Facts {
  return {
    'Talos version': talosVersion,
    shape,
    machines: machines.map(({ name, role }) => `${name} (${role})`).join(', '),
    targets: options.targets.join(', '),
    restartWorkloads: options.restartWorkloads,
    previousBundle: options.previousBundle,
  };
}

/** Effects that depend on what no recording holds. */
const BY_CHANCE: readonly string[] = ['drain', 'forfeit-leadership', 'update-status'];

function isCompared({ effect, outcome }: RecordedStep): boolean {
  // A refused effect was not done.
  return !BY_CHANCE.includes(effect) && outcome !== 'refused';
}

function nameOf({ stage, effect, machine }: RecordedStep): string {
  return `${effect}${machine === undefined ? '' : ` ${machine}`} in ${stage}`;
}

/** The first place where the order is another one: what follows from there is told by it. */
function orderDifferences(recorded: Recording, replayed: Recording): string[] {
  const names = ({ steps, machines }: Recording): string[] =>
    whoeverLeads(steps.filter(isCompared), planesOf(machines)).map(nameOf);
  const [before, now] = [names(recorded), names(replayed)];
  const at = before.findIndex((name, index) => name !== now[index]);
  if (at < 0 && before.length === now.length) return [];
  const index = at < 0 ? before.length : at;
  const after = index === 0 ? 'first' : `after ${before[index - 1]}`;
  return [`${after}: recorded ${before[index] ?? 'the end'}, replayed ${now[index] ?? 'the end'}`];
}

function planesOf(machines: Recording['machines']): string[] {
  return machines.filter(({ role }) => role === 'controlplane').map(({ name }) => name);
}

/** Puts the control plane that is told last in Dropping where it would be if it did not lead; any other order stays as it is. */
function whoeverLeads(steps: readonly RecordedStep[], planes: readonly string[]): readonly RecordedStep[] {
  const place = ({ machine }: RecordedStep): number => planes.indexOf(machine ?? '');
  const isTold = (step: RecordedStep): boolean =>
    step.stage === 'Dropping' && step.effect === 'apply-config' && place(step) >= 0;
  const first = steps.findIndex(isTold);
  const told = steps.slice(first, first + planes.length);
  const others = told.slice(0, -1).map(place);
  if (first < 0 || !told.every(isTold) || others.some((each, index) => each < (others[index - 1] ?? 0))) return steps;
  return steps.toSpliced(first, told.length, ...told.toSorted((a, b) => place(a) - place(b)));
}

/** Drains and hand-overs that are not between the cordon and the reboot of their machine. */
function misplaced(steps: readonly RecordedStep[], which: string): string[] {
  const found: string[] = [];
  let cordoned: string | undefined;
  for (const step of steps) {
    if (step.effect === 'cordon') cordoned = step.machine;
    else if (step.effect === 'reboot') cordoned = undefined;
    else if (BY_CHANCE.includes(step.effect) && step.effect !== 'update-status' && step.machine !== cordoned)
      found.push(`${which}: ${nameOf(step)} is not between cordon and reboot of ${step.machine}`);
  }
  return found;
}

function beforehandDifferences({ before, beforehand }: Recording, replayed: WatchedRecording): string[] {
  return Object.entries(before ?? {}).flatMap(([name, facts]) => [
    ...movedDifferences(`${name} before the first effect`, beforehand?.[name], replayed.beforehand[name]),
    ...differ(`${name} before the first effect`, facts, replayed.before[name] ?? {}),
  ]);
}

function effectDifferences(recorded: readonly RecordedStep[], replayed: readonly RecordedStep[]): string[] {
  const left = [...replayed];
  const waiting = new Set<string | undefined>();
  return recorded.flatMap((step) => {
    if (step.moved === undefined) return [];
    const index = left.findIndex((each) => each.moved !== undefined && nameOf(each) === nameOf(step));
    // One that is missing is told by the order.
    const [same] = index < 0 ? [] : left.splice(index, 1);
    if (same === undefined) return [];
    const wasWaiting = waiting.delete(step.machine);
    if ([step, same].some(({ became }) => became?.[SHOWN] === NONE)) waiting.add(step.machine);
    const became = differ(`after ${nameOf(step)}`, step.became ?? {}, same.became ?? {}, 'as before');
    const isUnsettled = wasWaiting || waiting.has(step.machine);
    return [
      ...movedDifferences(nameOf(step), step.moved, same.moved),
      ...became.filter((each) => !isUnsettled || !each.includes(`: ${SHOWN}: `)),
    ];
  });
}

function movedDifferences(where: string, recorded: readonly string[] = [], replayed: readonly string[] = []): string[] {
  // With the API server they end for the same reason as it.
  const before = recorded.includes('pod:kube-apiserver') ? recorded : withoutLostLeases(recorded, replayed);
  return [
    ...before.filter((name) => !replayed.includes(name)).map((name) => `${where} moved ${name}; not in the replay`),
    ...replayed.filter((name) => !before.includes(name)).map((name) => `${where} moved ${name} in the replay alone`),
  ];
}

function endDifferences(recorded: RecordedEnd, replayed: RecordedEnd): string[] {
  const machines = Object.entries(recorded.machines).flatMap(([name, { facts, ...end }]) => {
    const { facts: others = {}, ...other } = replayed.machines[name] ?? {};
    return [...differ(`${name} at the end`, texts(end), texts(other)), ...differ(`${name} at the end`, facts, others)];
  });
  return [
    ...differ('the end', { stage: recorded.stage }, { stage: replayed.stage }),
    ...differ('the bundle at the end', recorded.bundle, replayed.bundle),
    ...machines,
    ...differ('Kubernetes at the end', recorded.kubernetes, replayed.kubernetes),
  ];
}

function texts(values: object): Facts {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}

function differ(where: string, recorded: Facts, replayed: Facts, absent = 'nothing'): string[] {
  return [...new Set([...Object.keys(recorded), ...Object.keys(replayed)])]
    .filter((name) => recorded[name] !== replayed[name])
    .map((name) => `${where}: ${name}: recorded ${recorded[name] ?? absent}, replayed ${replayed[name] ?? absent}`);
}

import { type KubeObject, toTime } from '../../../pkg/kube/index.ts';
import type { World } from '../world.ts';
import { fieldOf, listOf, textOf } from './fields.ts';
import type { Change, History } from './history.ts';
import { NODES } from './nodes.ts';
import { PODS } from './pods.ts';
import { EVENTS } from './records.ts';
import { uidOf } from './storage.ts';

/** What an event says, and who says it. */
interface Told {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
}

/** Events are kept for an hour, as `--event-ttl` of kube-apiserver says unless told otherwise. */
const KEPT_MS = 3_600_000;

/** Makes events of what happens to Nodes and pods, in the words of those who tell it in a real cluster. */
export function recordEvents(world: World, history: History): void {
  let from = history.latest();
  let made = 0;

  function record(about: KubeObject, kind: 'Node' | 'Pod', told: Told): void {
    made += 1;
    const { name, namespace, uid } = about.metadata;
    const at = toTime(world.clock.now());
    const event = {
      metadata: {
        name: `${name}.${made.toString(16).padStart(16, '0')}`,
        // Those about objects of no namespace are kept in this one.
        namespace: namespace ?? 'default',
        uid: uidOf(`event/${made}`),
        resourceVersion: '',
        creationTimestamp: at,
      },
      involvedObject: { apiVersion: 'v1', kind, name, uid, ...(namespace === undefined ? {} : { namespace }) },
      type: told.type,
      reason: told.reason,
      message: told.message,
      source: { component: told.component },
      reportingComponent: told.component,
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    };
    EVENTS.create?.(world, event);
  }

  function forget(): void {
    const oldest = world.clock.now() - KEPT_MS;
    for (const event of EVENTS.list(world)) {
      if (Date.parse(event.metadata.creationTimestamp) < oldest) EVENTS.remove?.(world, { object: event, force: true });
    }
  }

  history.subscribe(() => {
    const nodes = history.since(NODES, from) ?? [];
    const pods = history.since(PODS, from) ?? [];
    from = history.latest();
    for (const change of nodes) for (const told of ofNode(change)) record(change.object, 'Node', told);
    for (const change of pods) for (const told of ofPod(change)) record(change.object, 'Pod', told);
    if (nodes.length + pods.length > 0) forget();
  });
}

const normal = (component: string, reason: string, message: string): Told => ({
  type: 'Normal',
  reason,
  message,
  component,
});

const readyOf = (object: KubeObject | undefined): unknown =>
  listOf(object, 'status.conditions').find(({ type }) => type === 'Ready')?.status;

function ofNode({ type, object, before }: Change): Told[] {
  const { name } = object.metadata;
  if (type === 'DELETED') return [];
  if (before === undefined) {
    return [normal('node-controller', 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`)];
  }
  const told: Told[] = [];
  const boot = textOf(object, 'status.nodeInfo.bootID');
  if (boot !== textOf(before, 'status.nodeInfo.bootID')) {
    const message = `Node ${name} has been rebooted, boot id: ${boot}`;
    told.push({ type: 'Warning', reason: 'Rebooted', message, component: 'kubelet' });
  }
  const ready = readyOf(object);
  if (ready !== readyOf(before)) {
    const component = ready === 'Unknown' ? 'node-controller' : 'kubelet';
    const reason = ready === 'True' ? 'NodeReady' : 'NodeNotReady';
    told.push(normal(component, reason, `Node ${name} status is now: ${reason}`));
  }
  const isCordoned = fieldOf(object, 'spec.unschedulable') === true;
  if (isCordoned !== (fieldOf(before, 'spec.unschedulable') === true)) {
    const reason = isCordoned ? 'NodeNotSchedulable' : 'NodeSchedulable';
    told.push(normal('kubelet', reason, `Node ${name} status is now: ${reason}`));
  }
  return told;
}

function ofPod({ type, object, before }: Change): Told[] {
  const { name, namespace, deletionTimestamp } = object.metadata;
  if (type === 'DELETED') return [];
  const node = textOf(object, 'spec.nodeName');
  if (before === undefined) {
    if (node === '') return [];
    return [normal('default-scheduler', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${node}`)];
  }
  const container = textOf(listOf(object, 'spec.containers')[0], 'name');
  if (deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined) {
    return [normal('kubelet', 'Killing', `Stopping container ${container}`)];
  }
  const isStarted = readyOf(object) === 'True' && readyOf(before) !== 'True';
  return isStarted ? [normal('kubelet', 'Started', `Container started: ${container}`)] : [];
}

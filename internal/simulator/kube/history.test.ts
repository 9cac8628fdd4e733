import { beforeAll, describe, expect, it } from 'vitest';
import { answer, createMint, createWorld, type Mint, type World } from '../index.ts';
import { CONFIG_MAPS } from './config-maps.ts';
import { createHistory, type History } from './history.ts';
import { NODES } from './nodes.ts';
import { PODS } from './pods.ts';
import { EVENTS } from './records.ts';
import { historyOf } from './watched.ts';

describe('the history of a world', () => {
  let mint: Mint;
  beforeAll(async () => {
    mint = await createMint(1);
  });

  const aWorld = (): World => createWorld({ seed: 1, controlPlanes: 1, workers: 1, mint });
  const changesOf = (history: History, ...[resource, since]: Parameters<History['since']>) =>
    history.since(resource, since)?.map(({ type, object }) => `${type} ${object.metadata.name}`);
  function ask(world: World, history: History, method: string, name: string, data?: object): number {
    const [machine] = world.planes();
    if (machine === undefined) throw new Error('no control plane');
    const path = `/api/v1/namespaces/default/configmaps${method === 'POST' ? '' : `/${name}`}`;
    const body = data === undefined ? undefined : { metadata: { name }, data };
    return answer(world, machine, { method, path, query: {}, body }, history).status;
  }

  it('holds everything from the start, and no news', () => {
    const history = createHistory(aWorld());

    expect(history.list(NODES).map(({ metadata }) => metadata.name)).toEqual(['cp1', 'w1']);
    expect(changesOf(history, NODES, history.latest())).toEqual([]);
  });

  it('counts what clients write', () => {
    const world = aWorld();
    const history = createHistory(world);
    const start = history.latest();

    expect(ask(world, history, 'POST', 'map', { a: '1' })).toBe(201);
    expect(ask(world, history, 'PATCH', 'map', { a: '2' })).toBe(200);
    const changed = history.latest();
    const { revision } = world.kubernetes.storage;
    expect(ask(world, history, 'PATCH', 'map', { a: '2' })).toBe(200);
    expect(history.latest()).toBe(changed);
    expect(world.kubernetes.storage.revision).toBe(revision);
    expect(ask(world, history, 'DELETE', 'map')).toBe(200);

    expect(changesOf(history, CONFIG_MAPS, start)).toEqual(['ADDED map', 'MODIFIED map', 'DELETED map']);
    expect(changesOf(history, CONFIG_MAPS, changed)).toEqual(['DELETED map']);
  });

  it('counts what the world does by itself, once', () => {
    const world = aWorld();
    const history = createHistory(world);
    const start = history.latest();
    let looks = 0;
    const end = history.subscribe(() => {
      looks += 1;
    });
    const machine = world.find('w1');
    if (machine?.node === undefined) throw new Error('no node');

    machine.node.ready = 'Unknown';
    history.refresh();
    history.refresh();
    end();
    machine.node.ready = 'True';
    history.refresh();

    expect(changesOf(history, NODES, start)).toEqual(['MODIFIED w1', 'MODIFIED w1']);
    expect(looks).toBe(1);
  });

  it('tells a pod of the same name from its predecessor', () => {
    const world = aWorld();
    const history = createHistory(world);
    const start = history.latest();

    world.kubernetes.workloads.mirrors.set('kube-scheduler-cp1', 1);
    history.refresh();

    expect(changesOf(history, PODS, start)).toEqual(['DELETED kube-scheduler-cp1', 'ADDED kube-scheduler-cp1']);
  });

  it('forgets what is long past, and says so', () => {
    const world = aWorld();
    const history = createHistory(world, { remembered: 2 });
    const start = history.latest();
    for (const data of [1, 2, 3]) ask(world, history, data === 1 ? 'POST' : 'PATCH', 'map', { n: `${data}` });

    expect(history.since(CONFIG_MAPS, start)).toBeUndefined();
    expect(changesOf(history, CONFIG_MAPS, start + 1)).toEqual(['MODIFIED map', 'MODIFIED map']);
  });

  it('tells in events what happens to Nodes and pods, for an hour', async () => {
    const world = aWorld();
    const history = historyOf(world);
    const machine = world.find('w1');
    const web = world.kubernetes.workloads.pods.find((pod) => pod.app === 'web');
    if (machine?.node === undefined || web === undefined) throw new Error('no node, no pod');
    const told = () =>
      EVENTS.list(world)
        .map((event) => Object(event))
        .map(({ reason, message }) => `${reason}: ${message}`);

    machine.node.unschedulable = true;
    machine.node.ready = 'Unknown';
    machine.node.bootId = 'another';
    world.kubernetes.workloads.delete(world, web, { force: false });
    history.refresh();

    expect(told()).toEqual([
      'Rebooted: Node w1 has been rebooted, boot id: another',
      'NodeNotReady: Node w1 status is now: NodeNotReady',
      'NodeNotSchedulable: Node w1 status is now: NodeNotSchedulable',
      'Killing: Stopping container web',
    ]);

    await world.clock.run(world.clock.sleep(3_601_000));
    history.refresh();

    expect(told().some((line) => line.startsWith('Killing'))).toBe(false);
    expect(historyOf(world)).toBe(history);
  });
});

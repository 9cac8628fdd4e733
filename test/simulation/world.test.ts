import { beforeAll, describe, expect, it } from 'vitest';
import type { CaTarget } from '../../api/v1alpha1/index.ts';
import {
  createMint,
  createRandom,
  createVirtualClock,
  createWorld,
  isApiServerReady,
  type Mint,
  type SimMachine,
  storeConfiguration,
  type World,
} from '../../internal/simulator/index.ts';
import { type RenderStage, renderStage } from '../../pkg/machineconfig/index.ts';

describe('the simulated world does what was measured on real parts', () => {
  let mint: Mint;
  beforeAll(async () => {
    mint = await createMint(2);
  });

  const aWorld = (controlPlanes: number, workers = 0): World => createWorld({ seed: 1, controlPlanes, workers, mint });
  const pass = (world: World, seconds: number) => world.clock.run(world.clock.sleep(seconds * 1_000));
  function tell(world: World, machine: SimMachine, target: CaTarget, stage: RenderStage): void {
    const change = { target, old: mint.ca(target, 0), new: mint.ca(target, 1) };
    storeConfiguration(world, machine, renderStage(machine.config, [change], stage, { talosVersion: '1.14.1' }), {
      staged: false,
    });
  }
  const healthy = (world: World) => world.planes().filter((machine) => world.etcd.isHealthy(machine)).length;

  it('a plain swap of the etcd CA looks healthy until connections break, and then quorum is gone', async () => {
    const world = aWorld(3);
    for (const machine of world.planes()) tell(world, machine, 'etcd', 'Dropping');
    await pass(world, 10);
    const before = healthy(world);

    world.etcd.cut();
    await pass(world, 10);

    expect(before).toBe(3);
    expect(healthy(world)).toBe(0);
    expect(world.planes().some((machine) => isApiServerReady(world, machine))).toBe(false);
  });

  it('old and new with the old key changes nothing that a broken connection would show', async () => {
    const world = aWorld(3);
    for (const machine of world.planes()) tell(world, machine, 'etcd', 'Accepting');
    await pass(world, 10);

    world.etcd.cut();
    await pass(world, 10);

    expect(healthy(world)).toBe(3);
  });

  it('accepting a Kubernetes CA takes the only API server of a single control plane away for a while', async () => {
    const world = aWorld(1);
    const [machine] = world.planes() as [SimMachine];
    tell(world, machine, 'kubernetes', 'Accepting');
    const seen: boolean[] = [];
    for (let second = 0; second < 40; second += 1) {
      await pass(world, 1);
      seen.push(isApiServerReady(world, machine));
    }

    expect(seen[0]).toBe(true);
    expect(seen.includes(false)).toBe(true);
    expect(seen.at(-1)).toBe(true);
  });

  it("a worker's apid accepts what the control plane accepts that signed for it, not what its own configuration says", async () => {
    const world = aWorld(1, 1);
    const worker = world.find('w1') as SimMachine;
    tell(world, worker, 'talos', 'Accepting');
    await pass(world, 10);

    const old = mint.ca('talos', 0).certificate.fingerprint;
    expect(worker.taken.talos.accepted.length).toBe(2);
    expect(worker.api.accepted.map((each) => each.fingerprint)).toEqual([old]);
  });

  it('a Node says Ready from before for 40 s after its machine lost power', async () => {
    const world = aWorld(3, 1);
    const worker = world.find('w1') as SimMachine;
    worker.isUp = false;

    await pass(world, 30);
    const after30 = worker.node?.ready;
    await pass(world, 30);

    expect(after30).toBe('True');
    expect(worker.node?.ready).toBe('Unknown');
  });
});

describe('time and chance', () => {
  it('passes only from event to event, in the order of their moments', async () => {
    const clock = createVirtualClock(1_000);
    const seen: string[] = [];
    clock.schedule(30, () => seen.push(`b at ${clock.monotonic()}`));
    clock.schedule(10, () => seen.push(`a at ${clock.monotonic()}`));

    await clock.run(clock.sleep(50));

    expect(seen).toEqual(['a at 10', 'b at 30']);
    expect(clock.now()).toBe(1_050);
  });

  it('says when nothing is left that could end a wait', async () => {
    const clock = createVirtualClock(0);

    await expect(clock.run(new Promise(() => undefined))).rejects.toThrow('stands still');
  });

  it('gives each purpose a stream of its own', () => {
    const draw = (stream: string) => Array.from({ length: 3 }, () => createRandom(1, stream).between(0, 1_000_000))[0];

    expect(draw('a')).toBe(draw('a'));
    expect(draw('a')).not.toBe(draw('b'));
  });
});

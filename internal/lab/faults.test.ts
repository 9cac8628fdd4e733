import assert from 'node:assert/strict';
import { beforeAll, describe, it } from 'vitest';
import { createMint, createWorld, type Mint, type SimMachine, type World } from '../simulator/index.ts';
import { FAULT_NAMES } from './fault-names.ts';
import { createFaults, LAB_FAULTS, type LabFault } from './faults.ts';
import { machineStatus } from './status.ts';

let mint: Mint;
beforeAll(async () => {
  mint = await createMint(1);
}, 60_000);

const aWorld = (): World => createWorld({ seed: 1, controlPlanes: 3, workers: 1, mint });

/** Everything that a fault can be seen by. */
function look(world: World): string {
  const { etcd, kubernetes } = world;
  return JSON.stringify([
    world.machines().map((machine) => machineStatus(world, machine, [])),
    world.machines().map(({ config, kubelet }) => [config.length, kubelet.isRunning]),
    etcd.alarms,
    etcd.leader,
    kubernetes.workloads.deployments.map((each) => each.minAvailable),
  ]);
}

const pass = (world: World, seconds: number): Promise<void> => world.clock.run(world.clock.sleep(seconds * 1_000));

const concerned = (fault: LabFault): string | undefined => (fault.concerns === 'cluster' ? undefined : 'cp2');

/** Faults whose effect is not in what `look` sees: connections alone. */
const UNSEEN = ['cut-etcd'];

describe('LAB_FAULTS', () => {
  it('are those whose names are completed', () => {
    assert.deepEqual(
      LAB_FAULTS.map(({ name }) => name),
      FAULT_NAMES,
    );
  });

  it.each(LAB_FAULTS.map((fault) => [fault.name, fault] as const))('%s can be seen', async (name, fault) => {
    const world = aWorld();
    const before = look(world);

    createFaults(world).start(name, concerned(fault));

    assert.equal(look(world) !== before, !UNSEEN.includes(name));
  });

  const lasting = LAB_FAULTS.filter((fault) => fault.end !== undefined);
  it.each(lasting.map((fault) => [fault.name, fault] as const))('%s is over when it is mended', async (name, fault) => {
    const world = aWorld();
    const faults = createFaults(world);
    const well = (machine: SimMachine): string => {
      const { reboots: _reboots, etcd, ...status } = machineStatus(world, machine, faults.inForce);
      return JSON.stringify([status, etcd === 'unhealthy']);
    };
    const before = world.machines().map(well);

    faults.start(name, concerned(fault));
    await pass(world, 90);
    const ended = faults.end(undefined, undefined);
    await pass(world, 90);

    assert.deepEqual(
      ended.map((each) => [each.fault, each.machine]),
      [[name, concerned(fault)]],
    );
    assert.deepEqual(faults.inForce, []);
    assert.deepEqual(world.machines().map(well), before);
  });
});

describe('createFaults', () => {
  it('refuses a fault of control planes on a worker, and one of the cluster on a machine', () => {
    const faults = createFaults(aWorld());

    assert.throws(() => faults.start('etcd-stop', 'w1'), {
      kind: 'usage',
      message: 'etcd-stop is a fault of control planes; w1 is a worker',
    });
    assert.throws(() => faults.start('alarm', 'cp1'), {
      kind: 'usage',
      message: 'alarm is a fault of the whole cluster; it takes no machine',
    });
    assert.throws(() => faults.start('cut-off', undefined), {
      kind: 'usage',
      message: 'name a machine: cp1, cp2, cp3, w1',
    });
  });

  it('mends what is named alone', () => {
    const faults = createFaults(aWorld());
    faults.start('cut-off', 'cp1');
    faults.start('cut-off', 'w1');
    faults.start('alarm', undefined);

    faults.end('cut-off', 'w1');

    assert.deepEqual(
      faults.inForce.map(({ fault, machine }) => [fault, machine]),
      [
        ['cut-off', 'cp1'],
        ['alarm', undefined],
      ],
    );
  });
});

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { openBundle } from '../../../pkg/bundle/index.ts';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import { bundleFixture } from '../../../test/builders/bundle.ts';
import { aCa } from '../../../test/builders/certificates.ts';
import { aLane, type LaneWorld, rebootWell, rotateEtcdWell, type Script } from '../../../test/builders/lane.ts';
import { aTalosconfig } from '../../../test/builders/talosconfig.ts';
import { createChecks } from '../checks.ts';
import { type LaneContext, NotDone, type Step } from '../model.ts';
import { aggregator } from './aggregator.ts';
import { all } from './all.ts';
import { before } from './before.ts';
import { etcd, etcdAfter } from './etcd.ts';
import { handOff } from './hand-off.ts';
import { interrupted } from './interrupted.ts';
import { machineOff } from './machine-off.ts';

/** What a step found not to be as it should. */
async function failures(step: Step, context: LaneContext): Promise<string[]> {
  const checks = createChecks();
  await step.run(context, checks);
  assert.ok(checks.list.length > 0, 'a step without checks proves nothing');
  return checks.list.filter((check) => !check.ok).map((check) => check.what);
}

/** A folder with what a step reads and writes there. */
async function aFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'ichor-lane-'));
  await writeFile(join(path, 'secrets.yaml'), bundleFixture('secrets-v1.14.txt'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const rotateEtcd: Script = async (_args, world, run) => {
  await rotateEtcdWell(world, run);
  return 0;
};

/** What `operation list -o json` prints of one operation in that phase, which was in others before. */
const listOf = (phase: string): string =>
  JSON.stringify({
    items: [{ metadata: { name: 'rotate-1' }, status: { phase, history: [{ phase: 'Pending' }, { phase }] } }],
  });

describe('the step etcd', () => {
  it('finds nothing wrong with a rotation that goes as it should', async () => {
    const { context } = aLane(rotateEtcd);

    assert.deepEqual(await failures(etcd, context), []);
  });

  const wrong: readonly [string, (world: LaneWorld) => void, RegExp][] = [
    ['a second Node that is cordoned', (world) => world.cordoned.push('cp1', 'w1'), /^at most one Node is cordoned/],
    ['a second machine that is away', (world) => world.silent.push('cp2', 'cp3'), /^at most one control plane is away/],
    [
      'a stage of handing over',
      (world) =>
        world.trail.push({ operation: 'r', stage: 'AwaitingCredentials', effect: 'enter-stage', phase: 'after' }),
      /^no credentials are handed over/,
    ],
    [
      'a member that is missing',
      (world) => {
        world.members.cp2 = ['a', 'b'];
      },
      /^no etcd loses a member/,
    ],
    [
      'a worker that rebooted',
      (world) => {
        world.boots.w1 = 7;
      },
      /^no worker rebooted/,
    ],
    [
      'a reboot that nobody asked for',
      (world) => {
        world.boots.cp3 = 9;
      },
      /^cp3 rebooted as often as it was asked to/,
    ],
    [
      'a moment without any API server',
      (world) => world.unready.push('cp1', 'cp2', 'cp3'),
      /^at no moment every API server was silent/,
    ],
    [
      'an old CA behind the new one at first',
      (world) => {
        world.trust.cp2 = ['old+1', 'old'];
      },
      /^ca.crt of cp2 holds the old CA/,
    ],
  ];
  for (const [name, harm, expected] of wrong) {
    it(`sees ${name}`, async () => {
      const { context } = aLane(async (_args, world, run) => {
        // Seen by two looks, between a cluster as it was and a rotation as it should be.
        await world.looks();
        const { cordoned, silent, unready, members, trust } = world;
        const kept = structuredClone({ cordoned, silent, unready, members, trust });
        harm(world);
        await world.looks(3);
        Object.assign(world, kept);
        await rotateEtcdWell(world, run);
        return 0;
      });

      const found = await failures(etcd, context);

      assert.ok(
        found.some((what) => expected.test(what)),
        found.join('\n'),
      );
    });
  }

  it('sees an ichor that does not end well, and what it said last', async () => {
    const { context } = aLane(async (_args, world, run) => {
      await rotateEtcdWell(world, run);
      run.print('error: cp2 does not answer');
      return 7;
    });
    const checks = createChecks();

    await etcd.run(context, checks);

    const [failed] = checks.list.filter((check) => !check.ok);
    assert.deepEqual(failed, {
      what: 'ichor ends with exit code 0',
      ok: false,
      found: '7: error: cp2 does not answer',
    });
  });
});

describe('the steps before and etcd-after', () => {
  it('write a snapshot that only the backup key opens, and read everything again', async () => {
    await using folder = await aFolder();
    const { context, world } = aLane(rotateEtcd, { reports: folder.path });

    const failed = [
      ...(await failures(before, context)),
      ...(await failures(etcd, context)),
      ...(await failures(etcdAfter, context)),
    ];

    assert.deepEqual(failed, []);
    assert.ok(
      (await readFile(join(folder.path, 'etcd-before.db.age')))
        .subarray(0, 21)
        .equals(Buffer.from('age-encryption.org/v1')),
    );
    assert.deepEqual([...world.configMaps.keys()], [context.memory.configMap]);
  });

  it('see a CA that stayed, a ConfigMap that is gone and a snapshot that the bundle does not open any more', async () => {
    await using folder = await aFolder();
    const { context, world } = aLane(async () => 0, { reports: folder.path });
    await before.run(context, createChecks());
    world.configMaps.clear();
    world.leafByFirst = false;
    const { bundle } = await openBundle(bundleFixture('secrets-v1.9.txt'), { path: 'another cluster' });

    const failed = await failures(etcdAfter, { ...context, bundle: async () => bundle });

    for (const expected of [
      'etcdrootsecret of cp1 holds one CA, which is not the old one',
      'the new CA signed what the etcd of cp1 serves',
      'the ConfigMap of before is readable',
      'the bundle as it is now opens the snapshot of before',
    ]) {
      assert.ok(failed.includes(expected), failed.join('\n'));
    }
  });
});

describe('the step aggregator', () => {
  function rotateFront(change: (world: LaneWorld) => void = () => undefined): Script {
    return async (_args, world) => {
      await world.looks();
      world.requestHeader = ['front-old', 'front-new'];
      change(world);
      await world.looks(3);
      world.requestHeader = ['front-new'];
      world.extensions = world.extensions.map((each) => ({ ...each, available: true }));
      return 0;
    };
  }

  it('finds nothing wrong where both CAs were there, and then one', async () => {
    const { context, world } = aLane(rotateFront());
    world.extensions = [{ name: 'v1beta1.metrics.k8s.io', available: true, message: '' }];
    world.metrics = 4;

    assert.deepEqual(await failures(aggregator, context), []);
  });

  it('sees an old CA that stayed', async () => {
    const { context } = aLane(async () => 0);

    assert.deepEqual(await failures(aggregator, context), [
      'requestheader-client-ca-file held both CAs, and then one',
      'it holds the new CA alone when ichor says that it is done',
    ]);
  });

  it('is not done where Talos has no list for it', async () => {
    const { context } = aLane(rotateFront());
    const machines = context.machines.map((machine) => ({ ...machine, talos: 'v1.13.5' }));

    await assert.rejects(aggregator.run({ ...context, machines }, createChecks()), NotDone);
  });
});

describe('the step interrupted', () => {
  /** One ichor that goes on where the one before it was killed; a deletion brings everything back, or not. */
  function resuming(options: { readonly loseDeletion?: boolean; readonly left?: string } = {}): Script {
    const trust = (world: LaneWorld, held: string[]) => {
      for (const machine of ['cp1', 'cp2', 'cp3']) world.trust[machine] = held;
    };
    const commands: Readonly<Record<string, Script>> = {
      'cluster rotate-ca': async (_args, world, run) => {
        await world.looks();
        trust(world, ['old', 'old+1']);
        await rebootWell(world, run, 'Accepting', 'cp1');
        return 0;
      },
      'operation get': async (_args, _world, run) => {
        run.print('  "stage": "Accepting",');
        return 0;
      },
      'operation delete': async (_args, world) => {
        if (options.loseDeletion !== true) trust(world, ['old']);
        Object.assign(world, { cordoned: [], silent: [], unready: [] });
        return 0;
      },
      'operation list': async (_args, _world, run) => {
        run.print(listOf(options.left ?? 'Completed'));
        return 0;
      },
      'cluster status': async (_args, _world, run) => {
        run.print('no drift\nno operation is under way');
        return 0;
      },
    };
    return async (args, world, run) => (await commands[args.slice(0, 2).join(' ')]?.(args, world, run)) ?? 0;
  }

  it('kills twice, goes on with the same machine, and leaves nothing behind', async () => {
    const { context } = aLane(resuming());

    assert.deepEqual(await failures(interrupted, context), []);
  });

  it('sees an operation that the deletion left', async () => {
    const { context } = aLane(resuming({ left: 'InProgress' }));

    assert.deepEqual(await failures(interrupted, context), ['no operation is left']);
  });

  it('sees a machine that still trusts the CA of the abandoned rotation', async () => {
    const { context } = aLane(resuming({ loseDeletion: true }));

    const found = await failures(interrupted, context);

    assert.ok(found.includes('ca.crt of cp2 is what it was'), found.join('\n'));
  });
});

describe('the step hand-off', () => {
  it('rotates through one endpoint and puts the others back, in the new talosconfig as well', async () => {
    await using folder = await aFolder();
    const path = join(folder.path, 'talosconfig');
    await writeFile(
      path,
      await aTalosconfig(await aCa('talos', { now: Date.now() }), Date.now(), { endpoints: ['10.5.0.2', '10.5.0.3'] }),
    );
    let during: readonly string[] = [];
    const { context } = aLane(
      async (args, _world, run) => {
        if (args[0] === 'cluster' && args[1] === 'rotate-ca') {
          const { context: name, contexts } = parseTalosconfig(await readFile(path, 'utf8'), path);
          during = contexts[name]?.endpoints ?? [];
          run.print('the new credentials are in use: talosconfig and kubeconfig');
        }
        return 0;
      },
      { directory: folder.path },
    );

    const failed = await failures(handOff, context);

    const { context: name, contexts } = parseTalosconfig(await readFile(path, 'utf8'), path);
    assert.deepEqual([failed, during, contexts[name]?.endpoints], [[], ['10.5.0.2'], ['10.5.0.2', '10.5.0.3']]);
  });
});

describe('the step machine-off', () => {
  const refuse: Script = async (args, _world, run) => {
    run.print(args[0] === 'cluster' ? 'error: cp3 does not answer' : listOf('Completed'));
    return args[0] === 'cluster' ? 4 : 0;
  };
  it('switches one control plane off and on, and sees the refusal', async () => {
    const { context, world } = aLane(refuse);
    const power = {
      off: async (machine: string) => {
        world.silent.push(machine);
      },
      on: async (machine: string) => {
        world.silent = world.silent.filter((name) => name !== machine);
      },
    };

    assert.deepEqual(await failures(machineOff, { ...context, power }), []);
  });

  it('sees an ichor that starts all the same, and switches the machine on again', async () => {
    const { context, world } = aLane(async () => 0);
    const power = {
      off: async (machine: string) => {
        world.silent.push(machine);
      },
      on: async () => {
        world.silent = [];
      },
    };

    const found = await failures(machineOff, { ...context, power });

    assert.ok(found.includes('ichor refuses to start'), found.join('\n'));
    assert.deepEqual(world.silent, []);
  });

  for (const phase of ['Pending', 'InProgress', 'Paused']) {
    it(`sees an operation that is left ${phase}`, async () => {
      const { context } = aLane(async (args, world, run) => {
        if (args[0] === 'cluster') return await refuse(args, world, run);
        run.print(listOf(phase));
        return 0;
      });
      const power = { off: async () => undefined, on: async () => undefined };

      const found = await failures(machineOff, { ...context, power });

      assert.ok(found.includes('no operation is left'), found.join('\n'));
    });
  }

  it('is not done where nobody can switch anything', async () => {
    const { context } = aLane(refuse);

    await assert.rejects(machineOff.run(context, createChecks()), NotDone);
  });
});

describe('the step all', () => {
  it('tries to delete too late, and compares the export with the bundle', async () => {
    await using folder = await aFolder();
    const deletions: string[] = [];
    const { context, world } = aLane(
      async (args, _world, run) => {
        const command = args.slice(0, 2).join(' ');
        if (command === 'operation delete') {
          deletions.push(world.trail.at(-1)?.stage ?? '');
          return 4;
        }
        if (command === 'cluster bundle-export') {
          await writeFile(args[args.indexOf('--to') + 1] ?? '', bundleFixture('secrets-v1.14.txt'));
          return 0;
        }
        await rotateEtcdWell(world, run);
        return 0;
      },
      { reports: folder.path },
    );
    await before.run(context, createChecks());

    assert.deepEqual(await failures(all, context), []);
    assert.deepEqual(deletions, ['Dropping']);
  });
});

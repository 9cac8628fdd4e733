import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { type CaStage, type CaTarget, ROTATION_FINALIZER } from '../../../api/v1alpha1/index.ts';
import { aClusterFolder, runInProcess } from '../../../test/builders/cli.ts';
import { anOperation } from '../../../test/builders/rotation.ts';
import { explain } from '../../rotation/explain.ts';
import { openEmbeddedStore } from '../../store/index.ts';

/** Stores a rotation that stands in this stage. */
async function store(directory: string, stage: CaStage, targets: readonly CaTarget[] = ['talos', 'kubernetes']) {
  const opened = await openEmbeddedStore({ directory });
  const { spec, status } = anOperation({ stage, targets });
  const finalizers = stage === 'Done' ? [] : [ROTATION_FINALIZER];
  const created = await opened.createOperation({ name: 'rotate-1', spec, finalizers });
  await opened.updateOperation(created, {
    status: {
      ...status,
      phase: stage === 'Done' ? 'Completed' : 'InProgress',
      reason: 'ProvingMachine',
      message: 'cp2: waiting for a new kube-apiserver',
      history: [
        { time: '2026-11-05T11:58:00.000Z', stage: 'Accepting', reason: 'RecordWritten', message: 'stored' },
        { time: '2026-11-05T11:59:00.000Z', stage, reason: 'ProvingMachine', message: 'cp2: waiting' },
      ],
    },
  });
  return opened;
}

describe('ichor operation list', () => {
  it('shows a table', async () => {
    using folder = aClusterFolder();
    await store(folder.path, 'Accepting');

    const run = await runInProcess(['operation', 'list', '--dir', folder.path]);

    const [heading, row = ''] = run.stdout.split('\n');
    assert.equal(run.code, 0);
    assert.match(heading ?? '', /^NAME {6}PHASE {7}STAGE {6}REASON {10}TARGETS {11}CREATED$/);
    assert.match(row, /^rotate-1 {2}InProgress {2}Accepting {2}ProvingMachine {2}talos,kubernetes {2}20/);
  });

  it('is an empty list as JSON where there is nothing', async () => {
    using folder = aClusterFolder();

    const run = await runInProcess(['operation', 'list', '--dir', folder.path, '-o', 'json']);

    assert.deepEqual([run.code, JSON.parse(run.stdout)], [0, { items: [] }]);
  });
});

describe('ichor operation get', () => {
  it('prints the object as it is stored', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Issuing');

    const run = await runInProcess(['operation', 'get', 'rotate-1', '--dir', folder.path, '-o', 'json']);

    assert.deepEqual(JSON.parse(run.stdout), await opened.readOperation('rotate-1'));
  });

  it.each(['rotate-2', 'Rotate_1', '../rotate-1'])('ends with 9 and lists the names for %s', async (name) => {
    using folder = aClusterFolder();
    await store(folder.path, 'Issuing');

    const run = await runInProcess(['operation', 'get', name, '--dir', folder.path]);

    assert.deepEqual([run.code, run.stderr], [9, `error: there is no operation ${name}; there are: rotate-1\n`]);
  });
});

describe('ichor operation explain', () => {
  it('says why, what to do, who runs it, and the last changes', async () => {
    using folder = aClusterFolder();
    await store(folder.path, 'Accepting');

    const run = await runInProcess(['operation', 'explain', '--stored', '--dir', folder.path]);

    assert.equal(run.code, 0);
    const lines = run.stdout.split('\n');
    assert.ok(lines.includes('reason      ProvingMachine'), run.stdout);
    assert.ok(lines.includes('message     cp2: waiting for a new kube-apiserver'), run.stdout);
    assert.ok(
      lines.some((line) => line.startsWith('what to do  A machine was given the configuration of this stage')),
      run.stdout,
    );
    assert.ok(
      lines.includes('runner      no process works on this cluster; ichor cluster rotate-ca goes on'),
      run.stdout,
    );
    assert.deepEqual(lines.slice(-5), [
      'last 2 changes:',
      'TIME                      STAGE      REASON          MESSAGE',
      '2026-11-05T11:58:00.000Z  Accepting  RecordWritten   stored',
      '2026-11-05T11:59:00.000Z  Accepting  ProvingMachine  cp2: waiting',
      '',
    ]);
  });

  it('is the account that the engine gives of itself, as JSON', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Accepting');

    const run = await runInProcess(['operation', 'explain', '--stored', '--dir', folder.path, '-o', 'json']);

    const operation = await opened.readOperation('rotate-1');
    assert.ok(operation !== undefined);
    const { uid: _uid, phase, conditions: _conditions, runner, looked, ...explanation } = JSON.parse(run.stdout);
    assert.deepEqual(explanation, explain(operation));
    assert.deepEqual([phase, runner, looked], ['InProgress', null, 'stored']);
  });

  it('says why there was no look at the cluster, beside what is stored', async () => {
    using folder = aClusterFolder();
    await store(folder.path, 'Accepting');

    const run = await runInProcess(['operation', 'explain', '--dir', folder.path]);

    assert.equal(run.code, 0, run.stderr);
    assert.match(run.stdout, /^looked at {3}as it was stored last; the cluster could not be looked at: .*/m);
    assert.match(run.stdout, /^state {7}waiting, since 2026-11-05T11:59:00.000Z$/m);
    assert.match(run.stdout, /^after it {4}Issuing: /m);
  });

  it('tells nobody to go on with what is over', async () => {
    using folder = aClusterFolder();
    await store(folder.path, 'Done');

    const run = await runInProcess(['operation', 'explain', '--dir', folder.path]);

    assert.match(run.stdout, /^runner {6}no process works on this cluster$/m);
  });

  it('names the process that holds the directory', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Accepting');
    await opened.acquireLock({ purpose: 'rotating certificate authorities' });

    const run = await runInProcess(['operation', 'explain', '--stored', '--dir', folder.path]);

    await opened.releaseLock();
    assert.match(
      run.stdout,
      new RegExp(`runner {6}process ${process.pid} on .* \\(rotating certificate authorities\\)`),
    );
  });
});

describe('a process that was killed', () => {
  it('does not count as one that runs the operation', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Accepting');
    await opened.acquireLock({ purpose: 'rotating certificate authorities' });
    const path = join(folder.path, 'lock', 'owner', '1');
    const owner = JSON.parse(readFileSync(path, 'utf8'));
    // The same process number, started at another time: somebody else.
    writeFileSync(path, JSON.stringify({ ...owner, startedAt: '1' }));

    const run = await runInProcess(['operation', 'explain', '--stored', '--dir', folder.path]);

    assert.match(run.stdout, /runner {6}no process works on this cluster/);
  });
});

describe('ichor operation pause and continue', () => {
  it('set what was asked for, and may be said twice', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Issuing');

    const first = await runInProcess(['operation', 'pause', '--dir', folder.path]);
    const again = await runInProcess(['operation', 'pause', '--dir', folder.path]);
    const paused = await opened.readOperation('rotate-1');
    const on = await runInProcess(['operation', 'continue', '--dir', folder.path]);

    assert.deepEqual([first.code, again.code, on.code], [0, 0, 0]);
    assert.equal(
      first.stdout,
      'rotate-1 is paused in stage Issuing; let it go on with ichor operation continue rotate-1\n',
    );
    assert.deepEqual([paused?.spec.paused, paused?.metadata.generation], [true, 2]);
    assert.equal((await opened.readOperation('rotate-1'))?.spec.paused, false);
    assert.equal(on.stdout, 'rotate-1 may go on; no process runs it now; ichor cluster rotate-ca takes it up\n');
  });

  it('lets go of endpoints that nobody here can reach, and says so in the spec alone', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Finalizing');
    const args = ['operation', 'continue', '--dir', folder.path];

    await runInProcess(args);
    const plain = await opened.readOperation('rotate-1');
    const report = await runInProcess([...args, '--unreachable-endpoints', 'report']);
    const reported = await opened.readOperation('rotate-1');
    const hold = await runInProcess([...args, '--unreachable-endpoints', 'hold']);
    const wrong = await runInProcess([...args, '--unreachable-endpoints', 'skip']);

    assert.deepEqual([report.code, hold.code, wrong.code], [0, 0, 2]);
    assert.equal(plain?.spec.unreachableEndpoints, undefined);
    assert.deepEqual([reported?.spec.unreachableEndpoints, reported?.spec.paused], ['Report', false]);
    assert.equal((await opened.readOperation('rotate-1'))?.spec.unreachableEndpoints, 'Hold');
  });

  it('takes another evacuation hook, which everybody sees, and refuses one that cannot be executed', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Accepting', ['etcd']);
    const hook = join(folder.path, 'hook');
    writeFileSync(hook, '#!/bin/sh\ntouch ran\n', { mode: 0o600 });
    const args = ['operation', 'continue', '--dir', folder.path, '--evacuation-hook', 'hook'];

    const refused = await runInProcess(args, { directory: folder.path });
    chmodSync(hook, 0o700);
    const taken = await runInProcess(args, { directory: folder.path });
    await runInProcess(['operation', 'pause', '--dir', folder.path]);
    const get = await runInProcess(['operation', 'get', '--dir', folder.path]);
    const explained = await runInProcess(['operation', 'explain', '--stored', '--dir', folder.path]);

    assert.deepEqual(
      [refused.code, refused.stderr],
      [2, `error: --evacuation-hook: ${hook} cannot be executed: EACCES\nNothing was done.\n`],
    );
    assert.equal(taken.code, 0, taken.stderr);
    assert.equal((await opened.readOperation('rotate-1'))?.spec.evacuationHook, hook);
    for (const { stdout } of [get, explained])
      assert.ok(stdout.includes(`\nhook        ${hook}, around each reboot\n`), stdout);
    assert.ok(!existsSync(join(folder.path, 'ran')));
  });

  it('are seen by whoever looks, though no process runs the operation', async () => {
    using folder = aClusterFolder();
    await store(folder.path, 'Issuing');
    await runInProcess(['operation', 'pause', '--dir', folder.path]);

    const [list, get, explained] = [
      await runInProcess(['operation', 'list', '--dir', folder.path]),
      await runInProcess(['operation', 'get', '--dir', folder.path]),
      await runInProcess(['operation', 'explain', '--stored', '--dir', folder.path]),
    ];

    assert.match(list.stdout, /^rotate-1 {2}Paused {2}Issuing /m);
    assert.match(get.stdout, /^phase {7}InProgress, paused$/m);
    assert.match(explained.stdout, /^reason {6}PausedByUser$/m);
    assert.match(explained.stdout, /^runner {6}no process works on this cluster$/m);
  });

  it('need no lock: a process that runs the rotation does not stand in the way', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Issuing');
    await opened.acquireLock({ purpose: 'rotating certificate authorities' });

    const run = await runInProcess(['operation', 'pause', '--dir', folder.path]);

    await opened.releaseLock();
    assert.equal(run.code, 0);
  });

  it('are refused for an operation that is over', async () => {
    using folder = aClusterFolder();
    await store(folder.path, 'Done');

    const run = await runInProcess(['operation', 'pause', 'rotate-1', '--dir', folder.path]);

    assert.deepEqual(
      [run.code, run.stderr],
      [4, 'error: the operation rotate-1 is over (Completed); there is nothing to pause\n'],
    );
  });
});

describe('ichor operation delete', () => {
  it.each([
    ['Issuing', ['talos', 'kubernetes'], 'certificates of the new kubernetes CA are in use that cannot be taken back'],
    ['Issuing', ['etcd'], 'certificates of the new etcd CA are in use that cannot be taken back'],
    ['Dropping', ['talos'], 'machines have stopped accepting the old certificate authorities'],
    ['Finalizing', ['talos'], 'machines have stopped accepting the old certificate authorities'],
  ] as const)('refuses in %s with %j, naming the stage', async (stage, targets, why) => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, stage, targets);

    const run = await runInProcess(['operation', 'delete', '--yes', '--dir', folder.path]);

    assert.equal(run.code, 4);
    assert.equal(
      run.stderr,
      `error: rotate-1 is in stage ${stage}, past its point of no return: ${why}\nIt can only go on: ichor cluster rotate-ca. It can be removed once it is done.\n`,
    );
    assert.equal((await opened.readOperation('rotate-1'))?.metadata.deletionTimestamp, undefined);
  });

  it('only marks an operation that another process runs: that one abandons it', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Accepting');
    await opened.acquireLock({ purpose: 'rotating certificate authorities' });

    const run = await runInProcess(['operation', 'delete', '--yes', '--dir', folder.path]);

    await opened.releaseLock();
    assert.equal(run.code, 0);
    assert.match(run.stdout, /^rotate-1 is marked for deletion; process \d+ on .*, which runs it, abandons it\n$/);
    assert.notEqual((await opened.readOperation('rotate-1'))?.metadata.deletionTimestamp, undefined);
  });

  it('removes one that is over', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Done');

    const run = await runInProcess(['operation', 'delete', '--dir', folder.path], { answers: [true] });

    assert.deepEqual([run.code, run.questions], [0, ['remove the finished operation rotate-1?']]);
    assert.deepEqual(await opened.listOperations(), []);
  });

  it('changes nothing when the answer is no, or nobody can be asked', async () => {
    using folder = aClusterFolder();
    const opened = await store(folder.path, 'Accepting');

    const no = await runInProcess(['operation', 'delete', '--dir', folder.path], { answers: [false] });
    const nobody = await runInProcess(['operation', 'delete', '--dir', folder.path]);

    assert.deepEqual([no.code, nobody.code], [3, 3]);
    assert.equal((await opened.readOperation('rotate-1'))?.metadata.deletionTimestamp, undefined);
  });
});

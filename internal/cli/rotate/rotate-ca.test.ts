import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { ROTATION_FINALIZER } from '../../../api/v1alpha1/index.ts';
import type { SecretsBundle } from '../../../pkg/bundle/index.ts';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import { aBundleDocument, bundleFixture } from '../../../test/builders/bundle.ts';
import { MADE_AT } from '../../../test/builders/certificates.ts';
import {
  aCliEnvironment,
  aClusterFolder,
  type CliOptions,
  type CliRun,
  type TestFolder,
} from '../../../test/builders/cli.ts';
import { createManualClock, passTime } from '../../../test/builders/manual-clock.ts';
import { ONE_ADDRESS, oneMachine } from '../../../test/builders/one-machine.ts';
import { anOperation } from '../../../test/builders/rotation.ts';
import { aTalosconfig } from '../../../test/builders/talosconfig.ts';
import { openEmbeddedStore } from '../../store/index.ts';
import { openPinoLogger } from '../../telemetry/index.ts';
import { runCli } from '../run-cli.ts';

/** A cluster of one control plane, its directory, and commands that are run in it. */
async function aCluster(folder: TestFolder) {
  const { bundle } = await aBundleDocument();
  const clock = createManualClock(MADE_AT);
  const machine = oneMachine(bundle, clock);
  writeFileSync(
    join(folder.path, 'talosconfig'),
    await aTalosconfig(bundle.talos, MADE_AT, { endpoints: [ONE_ADDRESS] }),
    { mode: 0o600 },
  );
  const run = async (argv: readonly string[], options: CliOptions = {}): Promise<CliRun> => {
    const made = aCliEnvironment({
      directory: folder.path,
      connections: machine.connections,
      ...options,
      now: MADE_AT,
    });
    // One clock for the cluster and for all commands.
    const command = runCli(argv, { ...made.environment, clock });
    const code = await passTime(clock, command);
    return { code, ...made.printed, questions: made.questions };
  };
  const store = await openEmbeddedStore({ directory: folder.path, clock });
  return { bundle, machine, run, store };
}

const ROTATE = ['cluster', 'rotate-ca', '--ca', 'talos'];

/** The private keys of a bundle as they stand in files: no output may hold one. */
function keyTexts(bundle: SecretsBundle): string[] {
  return [bundle.talos, bundle.kubernetes, bundle.etcd, bundle.aggregator].map(({ key }) =>
    Buffer.from(key.expose()).toString('base64'),
  );
}

describe('ichor cluster rotate-ca', { timeout: 120_000 }, () => {
  it('rotates to the end with --yes --follow, takes the hand-off itself and leaves new credentials', async () => {
    using folder = aClusterFolder();
    const { bundle, run, store, machine } = await aCluster(folder);

    const metrics = join(folder.path, 'ichor.prom');
    const done = await run([...ROTATE, '--yes', '--follow', '--metrics-file', metrics]);

    assert.equal(done.code, 0, done.stderr + done.stdout);
    assert.match(readFileSync(metrics, 'utf8'), /stage="Done",phase="Completed",state="done",reason="Completed"\} 1\n/);
    const after = (await store.readBundle()).bundle;
    assert.notEqual(after.talos.certificate.fingerprint, bundle.talos.certificate.fingerprint);
    assert.equal(after.kubernetes.certificate.fingerprint, bundle.kubernetes.certificate.fingerprint);
    const { contexts } = parseTalosconfig(readFileSync(join(folder.path, 'talosconfig'), 'utf8'), 'talosconfig');
    assert.deepEqual(
      contexts.home?.trust.map((ca) => ca.fingerprint),
      [after.talos.certificate.fingerprint],
    );
    assert.deepEqual(contexts.home?.endpoints, [ONE_ADDRESS]);
    const left = readdirSync(folder.path).filter((name) => /\.(old|new)$|rotation\.yaml|previous/.test(name));
    assert.deepEqual(left, []);
    assert.equal(machine.applied.length, 3);
    const lines = done.stdout.split('\n');
    const short = (print: string) => print.slice(0, 16);
    assert.ok(
      lines.includes(
        `  talos: ${short(bundle.talos.certificate.fingerprint)} -> ${short(after.talos.certificate.fingerprint)}`,
      ),
      done.stdout,
    );
    assert.ok(lines.includes(`  cp1: talos ${short(after.talos.certificate.fingerprint)}`), done.stdout);
    for (const key of [...keyTexts(bundle), ...keyTexts(after)]) assert.ok(!(done.stdout + done.stderr).includes(key));
  });

  it('ends with 5 at the hand-off when nobody can take it, and goes on once it was acknowledged', async () => {
    using folder = aClusterFolder();
    const { run, store } = await aCluster(folder);

    const { size } = statSync(join(folder.path, 'talosconfig'));
    const stopped = await run([...ROTATE, '--yes']);
    const [waiting] = await store.listOperations();
    const offered = readdirSync(folder.path)
      .filter((name) => name.endsWith('.new'))
      .sort();
    const early = await run(['cluster', 'credentials', '--merge']);
    await run(['operation', 'pause']);
    const paused = await run(['cluster', 'credentials', '--acknowledge']);
    await run(['operation', 'continue']);
    const taken = await run(['cluster', 'credentials', '--acknowledge']);
    const kept = Object.fromEntries(
      readdirSync(folder.path)
        .filter((name) => name.endsWith('.old'))
        .map((name) => [name, statSync(join(folder.path, name)).size]),
    );
    const another = await run(['cluster', 'rotate-ca', 'another', '--yes']);
    const done = await run([
      'cluster',
      'rotate-ca',
      '--yes',
      '--unreachable-endpoints',
      'report',
      '--restart-workloads',
    ]);

    const [ended] = await store.listOperations();
    assert.deepEqual(ended?.spec, { ...waiting?.spec, unreachableEndpoints: 'Report', restartWorkloads: 'Rolling' });
    assert.deepEqual(
      [another.code, another.stderr.split('\n')[0]],
      [4, 'error: "another" was asked for, and this cluster is "seed" according to its control planes'],
    );
    assert.equal(stopped.code, 5, stopped.stderr + stopped.stdout);
    assert.equal(waiting?.status.stage, 'AwaitingCredentials');
    assert.deepEqual(offered, ['kubeconfig.new', 'talosconfig.new']);
    assert.equal(early.code, 4);
    assert.match(early.stderr, /^error: the operation rotate-ca-.* --merge would put the old ones into your files\n/);
    assert.match(paused.stdout, /^acknowledged: it is paused; let it go on with ichor operation continue rotate-ca-/m);
    assert.equal(taken.code, 0, taken.stderr);
    assert.match(taken.stdout, /^acknowledged: no process runs it now; ichor cluster rotate-ca takes it up; /m);
    assert.match(taken.stdout, /talosconfig: valid until /);
    // Taken twice: a kubeconfig that there was not before is not kept as one from before.
    assert.deepEqual(kept, { 'kubeconfig.old': 0, 'talosconfig.old': size });
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, new RegExp(`^going on with the operation ${waiting?.metadata.name} \\(uid `));
    assert.equal((await store.listOperations()).length, 1);
  });

  it('begins nothing whose keys it could not encrypt for everybody for whom secrets.yaml is', async () => {
    using folder = aClusterFolder();
    const { run, store } = await aCluster(folder);
    writeFileSync(join(folder.path, 'secrets.yaml'), bundleFixture('secrets-two-recipients.age'));
    writeFileSync(join(folder.path, 'identity.txt'), bundleFixture('identity.txt'));
    const [mine = ''] = /age1\w+/.exec(String(bundleFixture('identity.txt'))) ?? [];
    const other = 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p';
    const rotate = (...more: string[]) => run([...ROTATE, '--identity', 'identity.txt', ...more]);

    const refused = [await rotate('--yes'), await rotate('--dry-run'), await rotate('--yes', '--recipient', other)];
    const named = await rotate('--dry-run', '--recipient', mine, '--recipient', other);

    assert.deepEqual(
      refused.map(({ code }) => code),
      [4, 4, 4],
    );
    assert.match(refused[0]?.stderr ?? '', /is encrypted for 2 recipients and only 1 are known here/);
    assert.match(refused[0]?.stderr ?? '', /--recipient age1…,age1…\. Nothing was changed\.\n$/);
    assert.equal(named.code, 0, named.stderr);
    assert.deepEqual(await store.listOperations(), []);
  });

  it('leaves credentials alone that the new CAs of an operation that is gone may have issued', async () => {
    using folder = aClusterFolder();
    const { run } = await aCluster(folder);
    await run([...ROTATE, '--yes']);
    const early = await run(['cluster', 'credentials', '--acknowledge']);
    rmSync(join(folder.path, 'operations'), { recursive: true });
    const texts = () => readdirSync(folder.path).map((name) => [name, statSync(join(folder.path, name)).mtimeMs]);
    const before = texts().filter(([name]) => /config/.test(String(name)));

    const looked = await run(['cluster', 'credentials']);

    assert.deepEqual([early.code, looked.code], [0, 0], looked.stderr);
    assert.match(looked.stdout, /^rotation\.yaml holds the new certificate authorities of an operation that is gone/m);
    assert.deepEqual(
      texts().filter(([name]) => /config/.test(String(name))),
      before,
    );
  });

  it('leaves the record of an operation that is gone in place when the next one is deleted before it went on', async () => {
    using folder = aClusterFolder();
    const { run, store, machine } = await aCluster(folder);
    await run([...ROTATE, '--yes']);
    rmSync(join(folder.path, 'operations'), { recursive: true });
    const { spec } = anOperation({ stage: 'Pending', targets: ['talos'] });
    await store.createOperation({ name: 'rotate-2', spec, finalizers: [ROTATION_FINALIZER] });
    const applied = machine.applied.length;

    const deleted = await run(['operation', 'delete', '--yes']);

    assert.equal(deleted.code, 0, deleted.stderr);
    assert.match(deleted.stdout, /^rotate-2 was removed, and nothing else: rotation\.yaml holds the new certificate/m);
    assert.deepEqual([machine.applied.length, await store.listOperations()], [applied, []]);
    assert.notEqual((await store.readState()).record, undefined);
  });

  it('merges no credentials that it is going to replace', async () => {
    using folder = aClusterFolder();
    const { run, store } = await aCluster(folder);
    const { spec, status } = anOperation({ stage: 'Accepting', targets: ['talos'] });
    const created = await store.createOperation({ name: 'rotate-1', spec });
    await store.updateOperation(created, { status: { ...status, phase: 'InProgress' } });

    const early = await run(['cluster', 'credentials', '--merge']);

    assert.equal(early.code, 4);
    assert.match(
      early.stderr,
      /^error: the operation rotate-1 is in stage Accepting, and is going to hand over new cred/,
    );
  });

  it('asks before the start and at the hand-off on a terminal, and stops there when the answer is no', async () => {
    using folder = aClusterFolder();
    const { run } = await aCluster(folder);

    const stopped = await run(ROTATE, { answers: [true, false] });

    assert.equal(stopped.code, 5, stopped.stderr);
    assert.deepEqual(stopped.questions, [
      'Start?',
      'Take them into use? The old ones stop working in the next stages.',
    ]);
  });

  it('changes nothing when the plan is declined, or nobody is there to confirm it', async () => {
    using folder = aClusterFolder();
    const { run, store, machine } = await aCluster(folder);

    const no = await run(ROTATE, { answers: [false] });
    const nobody = await run(ROTATE);

    assert.deepEqual([no.code, nobody.code], [3, 3]);
    assert.match(no.stdout, /^Plan: replace the Talos API CA\n {2}control planes {2}cp1\n/);
    assert.deepEqual([await store.listOperations(), machine.applied], [[], []]);
  });

  it('says that metrics cannot be written before anything has begun', async () => {
    using folder = aClusterFolder();
    const { run, store } = await aCluster(folder);

    const refused = await run([...ROTATE, '--yes', '--metrics-file', join(folder.path, 'no', 'file')]);

    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^error: --metrics-file: .* cannot be written: ENOENT: .*\nNothing was done\.\n$/);
    assert.deepEqual(await store.listOperations(), []);
  });

  it('says that a log cannot be written before anything has begun', async () => {
    using folder = aClusterFolder();
    const { run, store, machine } = await aCluster(folder);

    const refused = await run([...ROTATE, '--yes', '--log', folder.path], { openLog: openPinoLogger });

    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^error: --log: .* cannot be written: EISDIR: .*\nNothing was done\.\n$/);
    assert.deepEqual([await store.listOperations(), machine.applied], [[], []]);
  });

  it('goes on with the record of an operation that was removed by force, and with no other targets', async () => {
    using folder = aClusterFolder();
    const { run, store, bundle } = await aCluster(folder);
    await run([...ROTATE, '--yes']);
    const [before] = await store.listOperations();
    const made = (await store.readState()).record?.targets.talos?.certificate.fingerprint;
    rmSync(join(folder.path, 'operations'), { recursive: true });

    const other = await run(['cluster', 'rotate-ca', '--ca', 'etcd', '--yes']);
    const plan = await run(['cluster', 'rotate-ca', '--dry-run']);
    const done = await run(['cluster', 'rotate-ca', '--yes', '--follow']);

    assert.equal(other.code, 4);
    assert.equal(
      other.stderr,
      'error: rotation.yaml holds new certificate authorities for talos, of an operation that is gone; etcd was asked for\nMachines may run with them already. Finish that rotation first: ichor cluster rotate-ca without --ca.\n',
    );
    assert.ok(plan.stdout.includes('This rotation goes on with them, where the machines stand'), plan.stdout);
    assert.equal(done.code, 0, done.stderr + done.stdout);
    const [after] = await store.listOperations();
    assert.notEqual(after?.metadata.uid, before?.metadata.uid);
    assert.deepEqual(after?.spec.caRotation?.targets, ['talos']);
    assert.equal((await store.readBundle()).bundle.talos.certificate.fingerprint, made);
    assert.notEqual(made, bundle.talos.certificate.fingerprint);
  });

  it.each([
    [1, /^dry run: nothing was changed$/m],
    [100, /^a rotation would not start: /m],
  ])('looks a second time at what may pass by itself: %i requests that find nobody', async (times, expected) => {
    using folder = aClusterFolder();
    const { run, machine } = await aCluster(folder);
    machine.failKubernetes(times);

    const looked = await run([...ROTATE, '--dry-run']);

    assert.match(looked.stdout, expected);
    assert.equal(looked.stdout.includes('a rotation would not start'), times > 1, looked.stdout);
  });

  it('says in the plan which ports are closed to the proof of the end, and lets it end where that was asked for', async () => {
    using folder = aClusterFolder();
    const { run, store, machine } = await aCluster(folder);
    machine.closePorts([50_001]);
    const where = `trustd of cp1 (${ONE_ADDRESS}:50001): ECONNREFUSED`;

    const held = await run(ROTATE, { answers: [false] });
    const done = await run([...ROTATE, '--yes', '--follow', '--unreachable-endpoints', 'report']);

    assert.ok(held.stdout.includes(`cannot be tried from this host at ${where}. The rotation will hold`), held.stdout);
    assert.ok(done.stdout.includes(`${where}. They are reported at the end as not tried.`), done.stdout);
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /not tried, because it could not be reached: trust in the old CA alone at trustd of cp1/);
    assert.equal((await store.listOperations())[0]?.spec.unreachableEndpoints, 'Report');
  });

  it('says in the plan whose kubelets programs will refuse between Issuing and Dropping', async () => {
    using folder = aClusterFolder();
    const { run } = await aCluster(folder);
    const warned = 'Kubelets serve certificates of the Kubernetes CA (rotate-server-certificates): cp1. From Issuing';

    const kubernetes = await run(['cluster', 'rotate-ca', '--ca', 'kubernetes'], { answers: [false] });
    const talos = await run(ROTATE, { answers: [false] });

    assert.ok(kubernetes.stdout.includes(warned), kubernetes.stdout + kubernetes.stderr);
    assert.equal(talos.stdout.includes('rotate-server-certificates'), false);
  });

  it('has the machine check every stage in a dry run, and leaves no trace', async () => {
    using folder = aClusterFolder();
    const { run, machine } = await aCluster(folder);
    const before = [machine.config(), readdirSync(folder.path).sort()];

    const dry = await run([...ROTATE, 'seed', '--dry-run', '-o', 'json']);

    assert.equal(dry.code, 0, dry.stderr);
    assert.deepEqual(
      machine.applied.map(({ dryRun }) => dryRun),
      [true, true, true],
    );
    assert.deepEqual([machine.config(), readdirSync(folder.path).sort()], before);
    const { dryRun, blocked, kubernetes } = JSON.parse(dry.stdout);
    // Of Kubernetes, a rotation of the Talos CA asks nothing.
    assert.deepEqual([blocked, kubernetes], [null, []]);
    assert.deepEqual(
      dryRun.map((each: { machine: string; stage: string; changes: boolean }) => [
        each.machine,
        each.stage,
        each.changes,
      ]),
      [
        ['cp1', 'Accepting', true],
        ['cp1', 'Issuing', true],
        ['cp1', 'Dropping', true],
      ],
    );
  });

  it('plans with the time that reboots of this cluster took before', async () => {
    using folder = aClusterFolder();
    const { run } = await aCluster(folder);
    const line = { operation: 'rotate-1', stage: 'Accepting', machine: 'cp1', message: '' };
    const trail = [
      { ...line, time: '2026-01-01T00:00:00.000Z', effect: 'reboot', phase: 'before' },
      { ...line, time: '2026-01-01T00:01:30.000Z', effect: 'uncordon', phase: 'after', outcome: 'ok' },
    ];
    const outage = async (): Promise<string | undefined> => {
      // Nobody confirms it: the plan is all that is done.
      const { stdout } = await run(['cluster', 'rotate-ca', '--ca', 'etcd']);
      return /while the only control plane reboots: .*/.exec(stdout)?.[0];
    };

    const before = await outage();
    writeFileSync(join(folder.path, 'audit.jsonl'), trail.map((each) => `${JSON.stringify(each)}\n`).join(''), {
      mode: 0o600,
    });

    assert.deepEqual(
      [before, await outage()],
      ['40 s', '1 min'].map((time) => `while the only control plane reboots: 2 times, about ${time} each`),
    );
  });

  it('refuses another name than the one that the machines say', async () => {
    using folder = aClusterFolder();
    const { run, machine } = await aCluster(folder);

    const run1 = await run([...ROTATE.slice(0, 2), 'production', '--yes']);

    assert.equal(run1.code, 4);
    assert.match(run1.stderr, /"production" was asked for, and this cluster is ".*" according to its control planes/);
    assert.deepEqual(machine.applied, []);
  });

  it('refuses other targets than those of the operation that is under way', async () => {
    using folder = aClusterFolder();
    const { run } = await aCluster(folder);
    await run([...ROTATE, '--yes']);

    const other = await run(['cluster', 'rotate-ca', '--ca', 'etcd', '--yes']);

    assert.equal(other.code, 4);
    assert.match(other.stderr, /is under way and replaces talos; etcd was asked for\nFinish it first/);
  });

  it('ends with 8 and names the process while another one works on the directory', async () => {
    using folder = aClusterFolder();
    const { run, store } = await aCluster(folder);
    await store.acquireLock({ purpose: 'a test' });

    const locked = await run([...ROTATE, '--yes']);

    await store.releaseLock();
    assert.equal(locked.code, 8);
    assert.match(locked.stderr, new RegExp(`process ${process.pid} on .* has held the lock since .* \\(a test\\)`));
  });

  it('leaves between two steps when it is interrupted, and goes on with the same new CA', async () => {
    using folder = aClusterFolder();
    const { run, store } = await aCluster(folder);
    const leaving = new AbortController();
    leaving.abort();

    const left = await run([...ROTATE, '--yes', '--follow'], { interrupted: leaving.signal });
    const [standing] = await store.listOperations();
    const goneOn = await run([...ROTATE, '--yes']);

    assert.equal(left.code, 130);
    assert.match(
      left.stdout,
      /interrupted between two steps; the rotation stands safely. Run the same command again to go on\n/,
    );
    assert.equal(goneOn.code, 5, goneOn.stderr);
    assert.deepEqual(
      (await store.listOperations()).map((each) => each.metadata.uid),
      [standing?.metadata.uid],
    );
  });

  it('ends with 10 when somebody deletes the operation that it follows, and puts the credentials back', async () => {
    using folder = aClusterFolder();
    const { run, store } = await aCluster(folder);
    const before = readFileSync(join(folder.path, 'talosconfig'), 'utf8');

    const deleteFirst = async () => {
      const [operation] = await store.listOperations();
      await store.deleteOperation(operation?.metadata.name ?? '');
      return false;
    };

    // Asked to start, and then to take the new credentials.
    const ended = await run([...ROTATE, '--follow'], { answers: [true, deleteFirst] });

    assert.equal(ended.code, 10, ended.stderr + ended.stdout);
    assert.match(ended.stdout, /the operation was deleted and the rotation abandoned/);
    assert.deepEqual(await store.listOperations(), []);
    assert.equal(readFileSync(join(folder.path, 'talosconfig'), 'utf8'), before);
  });

  it('waits for an API server that restarts during the hand-off, and says so once', async () => {
    using folder = aClusterFolder();
    const { run, machine } = await aCluster(folder);
    await run([...ROTATE, '--yes']);
    machine.failKubernetes(6);

    const taken = await run(['cluster', 'credentials', '--acknowledge']);

    assert.equal(taken.code, 0, taken.stderr);
    assert.equal(
      taken.stdout.split('\n').filter((line) => line.startsWith('waiting for the Kubernetes API: ')).length,
      1,
    );
  });

  it('drops an acknowledgement that comes before its stage', async () => {
    using folder = aClusterFolder();
    const { run, store } = await aCluster(folder);

    const early = await run(['cluster', 'credentials', '--acknowledge']);

    assert.equal(early.code, 4);
    assert.equal(
      early.stderr,
      'error: no operation is under way; only AwaitingCredentials waits for credentials\nAn acknowledgement before that stage would be dropped.\n',
    );
    assert.deepEqual(await store.listOperations(), []);
  });
});

describe('a machine that comes back with the disk of an earlier stage, when the rotation is done', {
  timeout: 120_000,
}, () => {
  it('is named by the status and by the next rotation, which does not begin; without it, it does', async () => {
    using folder = aClusterFolder();
    const { run, bundle, machine, store } = await aCluster(folder);
    await run([...ROTATE, '--yes', '--follow']);
    const [, issuing, dropping] = machine.applied;
    const [{ metadata } = { metadata: { name: '' } }] = await store.listOperations();
    const old = bundle.talos.certificate.fingerprint.slice(0, 12);
    const why = `cp1, talos: the configuration accepts ${old}, which the operation ${metadata.name} replaced; take it out of the accepted list`;

    machine.putBack(issuing?.config ?? '');
    const status = await run(['cluster', 'status']);
    const next = await run([...ROTATE, '--dry-run']);
    machine.putBack(dropping?.config ?? '');
    const mended = await run(['cluster', 'status']);
    const free = await run([...ROTATE, '--dry-run']);

    assert.ok(status.stdout.includes(`drift:\n  ${why}\n`), status.stdout);
    assert.ok(next.stdout.includes(`a rotation would not start: ${why}`), next.stdout);
    assert.match(mended.stdout, /^no drift$/m);
    assert.doesNotMatch(free.stdout, /would not start/);
  });
});

describe('ichor operation delete of a rotation that runs nowhere', { timeout: 120_000 }, () => {
  it('abandons it: the record goes and the credentials from before come back', async () => {
    using folder = aClusterFolder();
    const { run, store, bundle } = await aCluster(folder);
    const before = readFileSync(join(folder.path, 'talosconfig'), 'utf8');
    await run([...ROTATE, '--yes']);

    const deleted = await run(['operation', 'delete', '--yes']);

    assert.equal(deleted.code, 0, deleted.stderr);
    assert.deepEqual(await store.listOperations(), []);
    assert.equal((await store.readState()).record, undefined);
    assert.equal((await store.readBundle()).bundle.talos.certificate.fingerprint, bundle.talos.certificate.fingerprint);
    assert.equal(readFileSync(join(folder.path, 'talosconfig'), 'utf8'), before);
    assert.deepEqual(
      readdirSync(folder.path).filter((name) => /\.(old|new)$|rotation\.yaml/.test(name)),
      [],
    );
  });
});

describe('a talosconfig that was lost', { timeout: 120_000 }, () => {
  it('is made anew from secrets.yaml, and every command says how', async () => {
    using folder = aClusterFolder();
    const { run, bundle } = await aCluster(folder);
    rmSync(join(folder.path, 'talosconfig'));

    const lost = await run([...ROTATE, '--yes']);
    const made = await run(['cluster', 'credentials', '--endpoint', ONE_ADDRESS]);

    assert.equal(lost.code, 6);
    assert.match(
      lost.stderr,
      /\nIf it is lost: ichor cluster credentials --endpoint ADDRESS of a control plane makes another one/,
    );
    assert.equal(made.code, 0, made.stderr);
    const { context, contexts } = parseTalosconfig(
      readFileSync(join(folder.path, 'talosconfig'), 'utf8'),
      'talosconfig',
    );
    assert.deepEqual(contexts[context]?.endpoints, [ONE_ADDRESS]);
    assert.deepEqual(
      contexts[context]?.trust.map((ca) => ca.fingerprint),
      [bundle.talos.certificate.fingerprint],
    );
  });
});

describe('ichor cluster status', { timeout: 120_000 }, () => {
  it('shows certificate authorities, machines and no drift, and as JSON the same', async () => {
    using folder = aClusterFolder();
    const { run, bundle } = await aCluster(folder);

    const asText = await run(['cluster', 'status']);
    const asJson = JSON.parse((await run(['cluster', 'status', '-o', 'json'])).stdout);

    assert.equal(asText.code, 0, asText.stderr);
    assert.ok(
      asText.stdout.includes(`talos                  ${bundle.talos.certificate.fingerprint.slice(0, 16)}  `),
      asText.stdout,
    );
    assert.ok(asText.stdout.includes('no drift\nno operation is under way\n'), asText.stdout);
    assert.deepEqual(asJson.machines[0].standing, {
      talos: 'Before',
      kubernetes: 'Before',
      etcd: 'Before',
      'kubernetes-aggregator': 'Before',
    });
    assert.deepEqual(asJson.machines[0].trusted.talos, [bundle.talos.certificate.fingerprint]);
  });
});

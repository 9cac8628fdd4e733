import { expect, it } from 'vitest';
import type { TalosOperation } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import { describeReal } from '../support/real.ts';
import { talosCluster } from '../talos/cluster.ts';
import { lockThreeControlPlanes } from '../talos/teardown.ts';
import { BUSY_ATTEMPT_MS, startTraffic } from '../talos/traffic.ts';
import { operatorDirectory } from './cluster-directory.ts';
import {
  bundleIn,
  expectHealthy,
  expectIdentityKept,
  expectNothingLeft,
  expectOldRefused,
  takeBefore,
} from './end-state.ts';
import { startIchor } from './ichor-process.ts';
import { type Moment, momentText, runUntilKilled } from './kill-moments.ts';
import { credentialsIn } from './kubeconfig-credentials.ts';

const NEEDS = { tools: ['machined', 'talosctl', 'kubectl', 'etcdctl'], root: true, linux: true };

/**
 * Where the process is killed, one moment of each kind in the order in which the
 * rotation passes them; the other side of most of them is in `rotate-kills.test.ts`.
 */
const MOMENTS: readonly Moment[] = [
  // The new keys are durable, and no machine has heard of them.
  { entry: { effect: 'write-record', phase: 'after' } },
  // Whether the machine was told cannot be known.
  { entry: { effect: 'apply-config', phase: 'before', stage: 'Accepting' } },
  // Each step of a roll.
  { entry: { effect: 'cordon', phase: 'after', stage: 'Accepting' } },
  { entry: { effect: 'reboot', phase: 'after', stage: 'Accepting' } },
  { entry: { effect: 'uncordon', phase: 'before', stage: 'Accepting' } },
  { entry: { effect: 'apply-config', phase: 'after', stage: 'Issuing' } },
  { entry: { effect: 'reboot', phase: 'after', stage: 'Dropping' } },
  { entry: { effect: 'replace-bundle', phase: 'before' } },
  // What comes next, whether the kill before fell before or after the replacement.
  { entry: { phase: 'after', stage: 'Finalizing' } },
  { entry: { effect: 'complete', phase: 'before' } },
];

describeReal('the etcd CA of three control planes, with the process killed again and again', NEEDS, () => {
  it(`ends as if it had not been killed ${MOMENTS.length} times: one set of keys, six reboots, no lost write`, async () => {
    using _turn = await lockThreeControlPlanes('rotating the etcd CA of three control planes');
    await using cluster = await talosCluster({ controlPlanes: 3, workers: 0, name: 'kills30' });
    await using directory = await operatorDirectory(cluster);
    const before = await takeBefore(cluster);
    await using traffic = startTraffic({
      servers: cluster.apiServers,
      credentials: credentialsIn(cluster.kubeconfigFile),
      timeoutMs: BUSY_ATTEMPT_MS,
    });
    const targets = ['--ca', 'etcd', '--previous-bundle', 'remove'];
    const args = ['cluster', 'rotate-ca', '--dir', directory.path, '--yes', '--follow', ...targets];

    for (const moment of MOMENTS) {
      await runUntilKilled(directory.path, args, moment);
      console.info(`killed: ${momentText(moment)}`);
    }
    await runToEnd(directory.path, args);
    await directory.handBack();

    const after = await bundleIn(directory.path);
    expect(caOf(after, 'etcd').certificate.fingerprint).not.toBe(before.bundle.etcd.certificate.fingerprint);
    expect(after.talos.certificate.fingerprint).toBe(before.bundle.talos.certificate.fingerprint);
    expectIdentityKept(before.bundle, after);
    expectNothingLeft(directory.path);
    expect(cluster.machines.map((machine) => machine.boots() - (before.boots[machine.name] ?? 0))).toEqual([2, 2, 2]);
    const report = await traffic.stop();
    console.info(`traffic: ${JSON.stringify({ ...report, examples: undefined })}`);
    expect(report.failed, report.failures.join('\n')).toBe(0);
    expect(report.lostWrites).toBe(0);
    await expectHealthy(cluster);
    await expectOldRefused(cluster, before, ['etcd']);
  }, 2_400_000);
});

/**
 * Lets the rotation come to its end. On a busy host the last kill may come after
 * the last step; then nothing is under way, and starting once more would be another rotation.
 */
async function runToEnd(directory: string, args: readonly string[]): Promise<void> {
  const asked = startIchor(['operation', 'get', '--dir', directory, '-o', 'json'], { home: directory });
  expect(await asked.ended, asked.output()).toBe(0);
  const { metadata, status } = JSON.parse(asked.output()) as TalosOperation;
  if (status.phase === 'Completed' && metadata.finalizers.length === 0) return;
  const last = startIchor(args, { home: directory });
  expect(await last.ended, last.output().slice(-3_000)).toBe(0);
}

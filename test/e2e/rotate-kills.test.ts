import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import { describeReal } from '../support/real.ts';
import { output } from '../support/run.ts';
import { succeeded } from '../talos/clients.ts';
import { type TalosCluster, talosCluster } from '../talos/cluster.ts';
import { startTraffic } from '../talos/traffic.ts';
import { operatorDirectory } from './cluster-directory.ts';
import {
  bundleIn,
  expectHealthy,
  expectIdentityKept,
  expectNothingLeft,
  expectOldRefused,
  expectValidConfigurations,
  takeBefore,
} from './end-state.ts';
import { buildIchor, readAudit, startIchor } from './ichor-process.ts';
import { type Moment, momentText, runUntilKilled } from './kill-moments.ts';
import { credentialsIn } from './kubeconfig-credentials.ts';
import { followKubeconfig } from './observed-rotation.ts';

const NEEDS = { tools: ['machined', 'talosctl', 'kubectl', 'etcdctl'], root: true, linux: true };

/**
 * Where the process is killed, in the order in which a rotation passes them: each
 * stage, each step of a roll, between the marker and the reboot, in the hand-off,
 * in the replacement of the bundle, and to the last step.
 */
const MOMENTS: readonly Moment[] = [
  { entry: { effect: 'write-record', phase: 'before' } },
  { file: /^rotation\.yaml$/ },
  { entry: { effect: 'apply-config', phase: 'before', stage: 'Accepting' } },
  { entry: { effect: 'apply-config', phase: 'after', stage: 'Accepting' } },
  { entry: { effect: 'apply-config', phase: 'after', stage: 'Accepting', machine: 'w1' } },
  { entry: { effect: 'cordon', phase: 'before', stage: 'Accepting' } },
  { entry: { effect: 'drain', phase: 'before', stage: 'Accepting' } },
  { entry: { effect: 'reboot', phase: 'before', stage: 'Accepting' } },
  { entry: { effect: 'uncordon', phase: 'before', stage: 'Accepting' } },
  { entry: { effect: 'cordon', phase: 'after', stage: 'Accepting' } },
  { entry: { effect: 'reboot', phase: 'after', stage: 'Accepting' } },
  { entry: { effect: 'uncordon', phase: 'after', stage: 'Accepting' } },
  { entry: { effect: 'enter-stage', phase: 'after', stage: 'Accepting' } },
  { file: /^kubeconfig\.new$/ },
  { file: /^talosconfig\.old$/ },
  { entry: { effect: 'enter-stage', phase: 'after', stage: 'AwaitingCredentials' } },
  { entry: { effect: 'apply-config', phase: 'before', stage: 'Issuing' } },
  { entry: { effect: 'apply-config', phase: 'after', stage: 'Issuing' } },
  { entry: { effect: 'enter-stage', phase: 'before', stage: 'Issuing' } },
  { entry: { effect: 'apply-config', phase: 'before', stage: 'Dropping' } },
  { entry: { effect: 'apply-config', phase: 'after', stage: 'Dropping' } },
  { entry: { effect: 'drain', phase: 'after', stage: 'Dropping' } },
  { entry: { effect: 'reboot', phase: 'after', stage: 'Dropping' } },
  { entry: { effect: 'uncordon', phase: 'before', stage: 'Dropping' } },
  { entry: { effect: 'enter-stage', phase: 'after', stage: 'Dropping' } },
  { entry: { effect: 'replace-bundle', phase: 'before' } },
  { file: /^secrets\.previous-/ },
  // What comes next, whether the kill before fell before or after the replacement.
  { entry: { phase: 'after', stage: 'Finalizing' } },
  { entry: { effect: 'reset-authentication', phase: 'before' } },
  { entry: { effect: 'enter-stage', phase: 'before', stage: 'Finalizing' } },
  { entry: { effect: 'complete', phase: 'before' } },
];

describeReal('four CAs of 3+1, with the process killed again and again', NEEDS, () => {
  it(`ends as if it had not been killed ${MOMENTS.length} times`, async () => {
    const program = await buildIchor();
    await using cluster = await talosCluster({ controlPlanes: 3, workers: 1, name: 'kills31' });
    await pinPod(cluster, 'cp1');
    await using directory = await operatorDirectory(cluster);
    const before = await takeBefore(cluster);
    const kubeconfig = join(directory.path, 'kubeconfig');
    await using traffic = startTraffic({ servers: cluster.apiServers, credentials: credentialsIn(kubeconfig) });
    const hand = followKubeconfig(kubeconfig, traffic);
    const targets = ['--all', '--previous-bundle', 'remove'];
    const args = ['cluster', 'rotate-ca', '--dir', directory.path, '--yes', '--follow', ...targets];

    const certificates = new Map<string, string>();
    for (const moment of MOMENTS) {
      await runUntilKilled(directory.path, args, moment);
      console.info(`killed: ${momentText(moment)}`);
      for (const { name, new: fingerprint } of await certificatesIn(program, directory.path)) {
        // One set of keys from the first to the last.
        expect(certificates.get(name) ?? fingerprint).toBe(fingerprint);
        certificates.set(name, fingerprint);
      }
    }
    const last = startIchor(args, { home: directory.path });
    const code = await last.ended;
    clearInterval(hand);

    expect(code, last.output().slice(-3_000)).toBe(0);
    await directory.handBack();
    const after = await bundleIn(directory.path);
    for (const target of CA_TARGETS) {
      expect(caOf(after, target).certificate.fingerprint).toBe(certificates.get(target));
      expect(certificates.get(target)).not.toBe(caOf(before.bundle, target).certificate.fingerprint);
    }
    expectIdentityKept(before.bundle, after);
    expectNothingLeft(directory.path);
    const boots = cluster.machines.map((machine) => machine.boots() - (before.boots[machine.name] ?? 0));
    expect(boots).toEqual([2, 2, 2, 0]);
    // One is asked for twice: after the kill between its marker and its call nobody can know whether it was sent.
    const asked = readAudit(directory.path).filter((entry) => entry.effect === 'reboot' && entry.phase === 'before');
    expect(asked.length).toBeLessThanOrEqual(7);
    const report = await traffic.stop();
    expect(report.failed, report.failures.join('\n')).toBe(0);
    expect(report.lostWrites).toBe(0);
    expect(report.allDown.times).toBe(0);
    await expectHealthy(cluster);
    await expectValidConfigurations(cluster);
    await expectOldRefused(cluster, before, CA_TARGETS);
  }, 5_400_000);
});

/** The fingerprints that the operation has frozen; none before it has looked at its record. */
async function certificatesIn(
  program: string,
  directory: string,
): Promise<readonly { readonly name: string; readonly new: string }[]> {
  const args = ['operation', 'get', '--dir', directory, '-o', 'json'];
  const operation = JSON.parse(await output(process.execPath, [program, ...args], { env: { HOME: directory } })) as {
    readonly status: { readonly caRotation: { readonly certificates: { name: string; new: string }[] } };
  };
  return operation.status.caRotation.certificates;
}

/** A pod that can run on one control plane only, so that its drains have something to move. */
async function pinPod(cluster: TalosCluster, machine: string): Promise<void> {
  const labels = { app: 'pinned' };
  const manifest = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'pinned', namespace: 'default' },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { 'kubernetes.io/hostname': machine },
          tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }],
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'web', image: 'ichor/web:1' }],
        },
      },
    },
  };
  succeeded('apply the pinned pod', await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(manifest) }));
  const wait = ['--request-timeout=0', 'wait', 'deployment/pinned', '--for=condition=Available', '--timeout=120s'];
  succeeded('the pinned pod to run', await cluster.kubectl(wait, { timeoutMs: 130_000 }));
}

import { expect, it } from 'vitest';
import type { AuditEntry } from '../../internal/controller/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import { describeReal } from '../support/real.ts';
import { talosCluster } from '../talos/cluster.ts';
import { discardSharedClusters } from '../talos/shared.ts';
import { startTraffic } from '../talos/traffic.ts';
import { operatorDirectory } from './cluster-directory.ts';
import {
  bundleIn,
  expectHealthy,
  expectIdentityKept,
  expectNothingLeft,
  expectOldRefused,
  takeBefore,
} from './end-state.ts';
import { readAudit, startIchor, untilAudit } from './ichor-process.ts';
import { credentialsIn } from './kubeconfig-credentials.ts';

const NEEDS = { tools: ['machined', 'talosctl', 'kubectl', 'etcdctl'], root: true, linux: true };

/** Moments at which the process is killed, each as soon as the audit trail shows it. */
const MOMENTS: readonly (Partial<AuditEntry> & { readonly effect: string; readonly phase: 'before' | 'after' })[] = [
  { effect: 'write-record', phase: 'before' },
  { effect: 'write-record', phase: 'after' },
  { effect: 'apply-config', phase: 'before', stage: 'Accepting' },
  { effect: 'apply-config', phase: 'after', stage: 'Accepting' },
  { effect: 'cordon', phase: 'before', stage: 'Accepting' },
  { effect: 'cordon', phase: 'after', stage: 'Accepting' },
  { effect: 'reboot', phase: 'after', stage: 'Accepting' },
  { effect: 'uncordon', phase: 'before', stage: 'Accepting' },
  { effect: 'uncordon', phase: 'after', stage: 'Accepting' },
  { effect: 'apply-config', phase: 'after', stage: 'Issuing' },
  { effect: 'reboot', phase: 'after', stage: 'Dropping' },
  { effect: 'replace-bundle', phase: 'before' },
  { effect: 'replace-bundle', phase: 'after' },
  { effect: 'complete', phase: 'before' },
];

describeReal('the etcd CA of three control planes, with the process killed again and again', NEEDS, () => {
  it('ends as if nothing had happened: one set of keys, six reboots, no lost write', async () => {
    await discardSharedClusters();
    await using cluster = await talosCluster({ controlPlanes: 3, workers: 0, name: 'kills30' });
    await using directory = await operatorDirectory(cluster);
    const before = await takeBefore(cluster);
    await using traffic = startTraffic({
      servers: cluster.apiServers,
      credentials: credentialsIn(cluster.kubeconfigFile),
    });
    const args = [
      'cluster',
      'rotate-ca',
      '--dir',
      directory.path,
      '--ca',
      'etcd',
      '--yes',
      '--follow',
      '--previous-bundle',
      'remove',
    ];
    const killed: string[] = [];

    for (const moment of MOMENTS) {
      const ichor = startIchor(args, { home: directory.path });
      const seen = readAudit(directory.path).length;
      const entry = await untilAudit(directory.path, ichor, seen, (each) => fits(each, moment));
      if (entry === undefined)
        throw new Error(`ichor ended before ${moment.effect} ${moment.phase}:\n${ichor.output().slice(-2_000)}`);
      ichor.kill9();
      await ichor.ended;
      killed.push(`${entry.stage} ${entry.effect} ${entry.phase}`);
    }
    const last = startIchor(args, { home: directory.path });
    const code = await last.ended;
    await directory.handBack();

    expect(killed).toHaveLength(14);
    expect(code, last.output().slice(-3_000)).toBe(0);
    const after = await bundleIn(directory.path);
    expect(caOf(after, 'etcd').certificate.fingerprint).not.toBe(before.bundle.etcd.certificate.fingerprint);
    expect(after.talos.certificate.fingerprint).toBe(before.bundle.talos.certificate.fingerprint);
    expectIdentityKept(before.bundle, after);
    expectNothingLeft(directory.path);
    expect(cluster.machines.map((machine) => machine.boots() - (before.boots[machine.name] ?? 0))).toEqual([2, 2, 2]);
    const report = await traffic.stop();
    expect(report.failed, report.examples.join('\n')).toBe(0);
    expect(report.lostWrites).toBe(0);
    await expectHealthy(cluster);
    await expectOldRefused(cluster, before, ['etcd']);
  }, 2_400_000);
});

function fits(entry: AuditEntry, moment: Partial<AuditEntry>): boolean {
  return Object.entries(moment).every(([key, value]) => entry[key as keyof AuditEntry] === value);
}

import { expect, it } from 'vitest';
import { caOf } from '../../pkg/bundle/index.ts';
import { describeReal } from '../support/real.ts';
import { talosCluster } from '../talos/cluster.ts';
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
import { readAudit, startIchor } from './ichor-process.ts';

const NEEDS = { tools: ['machined', 'talosctl', 'kubectl', 'etcdctl'], root: true, linux: true };

describeReal('the default pair on a 1+1 cluster with the legacy configuration shape', NEEDS, () => {
  it('replaces the Talos and the Kubernetes CA, and nothing else, without a reboot', async () => {
    await using cluster = await talosCluster({ controlPlanes: 1, workers: 1, contract: 'v1.13', name: 'legacy11' });
    await using directory = await operatorDirectory(cluster);
    const before = await takeBefore(cluster);

    const ichor = startIchor(['cluster', 'rotate-ca', '--dir', directory.path, '--yes', '--follow'], {
      home: directory.path,
    });
    const code = await ichor.ended;
    await directory.handBack();

    expect(code, ichor.output().slice(-3_000)).toBe(0);
    const after = await bundleIn(directory.path);
    const changed = (['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const).filter(
      (target) => caOf(after, target).certificate.fingerprint !== caOf(before.bundle, target).certificate.fingerprint,
    );
    expect(changed).toEqual(['talos', 'kubernetes']);
    expectIdentityKept(before.bundle, after);
    expectNothingLeft(directory.path);
    expect(readAudit(directory.path).filter((entry) => entry.effect === 'reboot')).toEqual([]);
    expect(cluster.machines.map((machine) => machine.boots())).toEqual([1, 1]);
    await expectHealthy(cluster);
    await expectValidConfigurations(cluster);
    await expectOldRefused(cluster, before, ['talos', 'kubernetes']);
  }, 1_200_000);
});

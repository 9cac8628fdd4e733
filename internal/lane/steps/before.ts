import { join } from 'node:path';
import type { Step } from '../model.ts';
import { checkWhole, planesOf } from '../rotate.ts';
import { collectSnapshot, sealSnapshot } from '../snapshot.ts';

/** What is taken down before anything is disturbed: a snapshot, the members, a ConfigMap to be read afterwards. */
export const before: Step = {
  id: 'before',
  title: 'Take an etcd snapshot, note the members, and write a ConfigMap',
  stands: ['first list, 1'],
  async run(context, checks) {
    const { readings, memory, clock, reports } = context;
    await checkWhole(context, checks);
    const [plane] = planesOf(context);
    if (plane === undefined) throw new Error('the cluster has no control plane');
    checks.figure('etcd members', (await readings.etcdMembers(plane)).join(', '));
    const taken = await readings.etcdSnapshot(plane, collectSnapshot);
    checks.that(
      `a snapshot of the etcd of ${plane.name} is whole`,
      taken.ok,
      taken.ok ? sizeOf(taken.bytes) : taken.problem,
    );
    if (taken.ok) {
      const path = join(reports, 'etcd-before.db.age');
      await sealSnapshot(taken.bytes, await context.bundle(), path);
      memory.snapshot = { path, sha256: taken.sha256 };
      checks.figure('snapshot', `${path}, encrypted with the backup key of the cluster`);
    }
    memory.configMap = `ichor-lane-${clock.now().toString(36)}`;
    await readings.createConfigMap(memory.configMap, memory.configMap);
    checks.that('a ConfigMap was written', true, `default/${memory.configMap}`);
    memory.etcdCa = (await readings.etcdPki(plane)).trusted[0] ?? '';
  },
};

function sizeOf(bytes: Uint8Array): string {
  return `${(bytes.length / 1024 ** 2).toFixed(1)} MiB, ends in its SHA-256`;
}

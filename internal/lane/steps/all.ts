import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import { exportFingerprint } from '../../../pkg/bundle/index.ts';
import { untilAudit } from '../audit.ts';
import type { Checks } from '../checks.ts';
import { lastLine } from '../ichor.ts';
import type { LaneContext, Step } from '../model.ts';
import { checkEnd, rotate } from '../rotate.ts';
import { checkRoll, checkSnapshotOfBefore, checkTrustFiles } from './etcd.ts';

/** All four at once, a deletion that comes too late, and the export that a completed rotation asks for. */
export const all: Step = {
  id: 'all',
  title: 'Rotate all four CAs at once, try to delete the rotation too late, and export the bundle',
  stands: ['first list, 5', 'second list, 2', 'second list, 3'],
  disturbs: 'reboots every control plane twice, one at a time, restarts every kubelet, and replaces all credentials',
  needs: ['before'],
  async run(context, checks) {
    const identity = (await context.bundle()).clusterId;
    const rotated = await rotate(context, CA_TARGETS, async (run, seen) => {
      const { audit, clock, ichor } = context;
      const isDropping = ({ stage, phase }: { stage: string; phase: string }) =>
        stage === 'Dropping' && phase === 'after';
      const line = await untilAudit({ audit, clock, seen, fits: isDropping, over: () => run.isOver() });
      if (line === undefined) return;
      const refused = await ichor.run(['operation', 'delete', '--yes']);
      checks.that(
        'a deletion in Dropping is refused',
        refused.code === 4,
        `exit code ${refused.code}: ${lastLine(refused.output)}`,
      );
    });
    checkRoll(context, checks, rotated);
    checkTrustFiles(context, checks, rotated.watched);
    await checkEnd(context, checks, rotated);
    const headers = await context.readings.requestHeaderCas();
    checks.that('requestheader-client-ca-file holds one CA', headers.length === 1, `${headers.length}`);
    await checkExport(context, checks);
    const after = await context.bundle();
    checks.that('the identity of the cluster is what it was', after.clusterId === identity, 'cluster ID and secret');
    await checkSnapshotOfBefore(context, checks);
    const value = await context.readings.readConfigMap(context.memory.configMap ?? '');
    checks.that('the ConfigMap of before is readable', value === context.memory.configMap, value ?? 'it is not there');
  },
};

/** The copy that people put away after a rotation is the bundle that the machines run with. It is removed again. */
async function checkExport(context: LaneContext, checks: Checks): Promise<void> {
  const path = join(context.reports, 'secrets-exported.yaml');
  try {
    const { code, output } = await context.ichor.run(['cluster', 'bundle-export', '--to', path]);
    checks.that('the bundle can be exported', code === 0, code === 0 ? 'mode 0600' : lastLine(output));
    if (code !== 0) return;
    const exported = exportFingerprint(await context.bundle(path));
    const isCurrent = exported === exportFingerprint(await context.bundle());
    checks.that('the export is the bundle of after the rotation', isCurrent, exported.slice(0, 16));
  } finally {
    await rm(path, { force: true });
  }
}

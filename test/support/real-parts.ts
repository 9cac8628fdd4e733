/**
 * Global set-up of the `real` project. In continuous integration a missing real
 * component is a failure, so everything is built before the first test starts;
 * elsewhere each suite that lacks one reports itself as skipped, with the reason.
 */
export async function setup(): Promise<void> {
  const { ensureTools } = await import('../tools/tools.ts');
  await ensureTools({ required: process.env.CI === 'true' });
}

/** A suite that was stopped in the middle leaves its Talos cluster, which ends with the run. */
export async function teardown(): Promise<void> {
  const { recordedClusters } = await import('../talos/record.ts');
  if (recordedClusters().length === 0) return;
  const { cgroupVersion } = await import('../talos/host/cgroups.ts');
  const { removeLeftovers } = await import('../talos/teardown.ts');
  await removeLeftovers(cgroupVersion());
}

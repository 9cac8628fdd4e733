/**
 * Global set-up of the `real` project. In continuous integration a missing real
 * component is a failure, so everything is built before the first test starts;
 * elsewhere each suite that lacks one reports itself as skipped, with the reason.
 */
export async function setup(): Promise<void> {
  const { ensureTools } = await import('../tools/tools.ts');
  await ensureTools({ required: process.env.CI === 'true' });
}

/** The Talos clusters that suites shared end with the run. */
export async function teardown(): Promise<void> {
  const { removeClustersOfRun } = await import('../talos/shared.ts');
  await removeClustersOfRun();
}

import { defineConfig } from 'vitest/config';

/** Suites on real clusters that take longer than a change should wait for: `npm run test:nightly` runs them besides all others. */
const NIGHTLY = ['test/conformance/talos/three-control-planes.test.ts', 'test/e2e/rotate-all.test.ts'];

/**
 * Projects, one after the other. `unit` needs nothing but Node and stays under a
 * minute. `simulation` rotates clusters in memory under every fault. `real` and
 * `nightly` drive real components (talosctl, etcd, kube-apiserver, Talos itself);
 * their files run one after the other, because they share two cores and one cluster.
 */
export default defineConfig({
  test: {
    reporters: ['default', './test/support/totals-reporter.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            '{api,pkg,internal,cmd}/**/*.test.ts',
            'test/architecture/**/*.test.ts',
            'test/support/**/*.test.ts',
          ],
          setupFiles: ['./test/support/setup.ts'],
          testTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          // Worlds in memory: processor time and nothing else.
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts'],
          setupFiles: ['./test/support/setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      realProject('real', {
        include: ['test/{tools,integration,conformance,talos,e2e}/**/*.test.ts'],
        exclude: NIGHTLY,
        order: 2,
      }),
      realProject('nightly', { include: NIGHTLY, exclude: [], order: 3 }),
    ],
  },
});

function realProject(name: string, files: { include: string[]; exclude: string[]; order: number }) {
  return {
    test: {
      name,
      include: files.include,
      exclude: files.exclude,
      setupFiles: ['./test/support/setup.ts'],
      globalSetup: ['./test/support/real-parts.ts'],
      fileParallelism: false,
      testTimeout: 120_000,
      hookTimeout: 600_000,
      sequence: { groupOrder: files.order },
    },
  };
}

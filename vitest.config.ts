import { defineConfig } from 'vitest/config';

/**
 * Three projects. `unit` needs nothing but Node and stays under a minute.
 * `simulation` rotates clusters in memory under every fault. `real`
 * drives real components (talosctl, etcd, kube-apiserver, Talos itself); its
 * files run one after the other, because they share two cores and one cluster.
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
        },
      },
      {
        test: {
          name: 'real',
          include: ['test/{tools,integration,conformance,talos,e2e}/**/*.test.ts'],
          setupFiles: ['./test/support/setup.ts'],
          globalSetup: ['./test/support/real-parts.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});

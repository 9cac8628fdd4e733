import { defineConfig } from 'vitest/config';

/** Suites on real clusters that take longer than a change should wait for: `npm run test:nightly` runs them besides all others. */
const NIGHTLY = [
  'test/conformance/talos/three-control-planes.test.ts',
  'test/e2e/rotate-{all,faults,kills,matrix}.test.ts',
];

/** Unit tests that go through thousands of cases; the fast loop leaves them to the full run. */
const THOROUGH = [
  'internal/cli/rotate/rotate-ca.test.ts',
  'internal/rotation/{loop,properties}.test.ts',
  'internal/store/{crash,embedded-store}.test.ts',
  'pkg/bundle/envelope.test.ts',
  'pkg/kube/{client,kubeconfig}.test.ts',
  'pkg/machineconfig/{laws,hard-input}.test.ts',
  'pkg/pki/{import,service-account-key,rsa-second-reader}.test.ts',
  'pkg/talos/{limits,trust,resources}.test.ts',
  'test/architecture/generated.test.ts',
  'test/support/artefact.test.ts',
];

/**
 * Projects, one after the other. `unit` and `thorough` need nothing but Node;
 * `unit` alone stays under a minute. `simulation` rotates clusters in memory under every fault. `real` and
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
            'test/bench/**/*.test.ts',
          ],
          exclude: THOROUGH,
          setupFiles: ['./test/support/setup.ts'],
          testTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'thorough',
          include: THOROUGH,
          setupFiles: ['./test/support/setup.ts'],
          testTimeout: 60_000,
          sequence: { groupOrder: 1 },
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
          sequence: { groupOrder: 2 },
        },
      },
      realProject('real', {
        include: ['test/{tools,integration,conformance,talos,e2e}/**/*.test.ts'],
        exclude: NIGHTLY,
        order: 3,
      }),
      realProject('nightly', { include: NIGHTLY, exclude: [], order: 4 }),
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

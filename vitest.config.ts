import { defineConfig } from 'vitest/config';
import { FileOrder } from './test/support/file-order.ts';

/** Suites on real clusters that take longer than a change should wait for: `npm run test:nightly` runs them besides all others. */
const NIGHTLY = ['test/e2e/rotate-{faults,kills,matrix}.test.ts'];

/** Waits for what runs beside everything else from the beginning. */
const ENUMERATION = 'test/simulation/complete-enumeration.test.ts';

/** A whole rotation in real time, of a cluster that this computer's processors must all serve. */
const DEMO = 'test/simulation/demo.test.ts';

const ALL_PROCESSORS = '100%';

/** Unit tests that go through thousands of cases, or take long over real sockets; the fast loop leaves them to the full run. */
const THOROUGH = [
  'internal/cli/commands/lab/lab.test.ts',
  'internal/cli/rotate/rotate-ca.test.ts',
  'internal/cli/operation/operation.test.ts',
  'internal/lab/*.test.ts',
  'internal/lab/talos/reboot.test.ts',
  'internal/rotation/{loop,properties}.test.ts',
  'internal/store/{crash,embedded-store}.test.ts',
  'pkg/bundle/envelope.test.ts',
  'pkg/kube/{client,kubeconfig}.test.ts',
  'pkg/machineconfig/{bulk-input,laws}.test.ts',
  'pkg/pki/{bulk-input,import,service-account-key,rsa-second-reader}.test.ts',
  'pkg/talos/{client,limits,trust,resources}.test.ts',
  'test/architecture/generated.test.ts',
  'test/support/artefact.test.ts',
];

/**
 * Projects, one after the other. `unit` and `thorough` need nothing but Node;
 * `unit` alone stays under a minute. `simulation` rotates clusters in memory under every fault.
 * These three have every processor (left alone, Vitest keeps one free).
 * `real` and `nightly` drive real components (talosctl, etcd, kube-apiserver, Talos itself).
 * `enumeration` runs beside all of them, at the lowest priority, and is waited for at the end.
 * A real cluster of one control plane or a lab mostly waits, and one of three takes more
 * than one processor while it is rotated: two files of `real` run at a time, in the order
 * of `test/support/file-order.ts`. Those of `nightly` run one after the other, because
 * they print how long things took.
 */
export default defineConfig({
  test: {
    reporters: ['default', './test/support/totals-reporter.ts'],
    globalSetup: ['./test/support/temporary-directory.ts'],
    sequence: { sequencer: FileOrder },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            '{api,pkg,internal,cmd}/**/*.test.ts',
            'test/architecture/**/*.test.ts',
            'test/support/**/*.test.ts',
            'test/bench/**/*.test.ts',
            'test/mutation/**/*.test.ts',
            'test/scoreboard/**/*.test.ts',
          ],
          exclude: THOROUGH,
          setupFiles: ['./test/support/setup.ts'],
          maxWorkers: ALL_PROCESSORS,
          testTimeout: 20_000,
          // Hooks make keys, which a machine that does other things takes its time for.
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'thorough',
          include: THOROUGH,
          setupFiles: ['./test/support/setup.ts'],
          maxWorkers: ALL_PROCESSORS,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          // Worlds in memory: processor time and nothing else.
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts'],
          exclude: [DEMO, ENUMERATION],
          setupFiles: ['./test/support/setup.ts'],
          maxWorkers: ALL_PROCESSORS,
          testTimeout: 300_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'demo',
          include: [DEMO],
          setupFiles: ['./test/support/setup.ts'],
          testTimeout: 600_000,
          sequence: { groupOrder: 3 },
        },
      },
      realProject('real', {
        include: ['test/{tools,integration,conformance,talos,e2e}/**/*.test.ts'],
        exclude: NIGHTLY,
        order: 4,
        maxWorkers: 2,
      }),
      {
        test: {
          name: 'enumeration',
          include: [ENUMERATION],
          setupFiles: ['./test/support/setup.ts'],
          globalSetup: ['./test/simulation/enumeration-beside.ts'],
          sequence: { groupOrder: 5 },
        },
      },
      realProject('nightly', { include: NIGHTLY, exclude: [], order: 6, maxWorkers: 1 }),
    ],
  },
});

function realProject(name: string, files: { include: string[]; exclude: string[]; order: number; maxWorkers: number }) {
  return {
    test: {
      name,
      include: files.include,
      exclude: files.exclude,
      setupFiles: ['./test/support/setup.ts'],
      globalSetup: ['./test/support/real-parts.ts'],
      maxWorkers: files.maxWorkers,
      // A test that hangs must end; how long others take on a busy host is not judged.
      testTimeout: 300_000,
      hookTimeout: 1_500_000,
      sequence: { groupOrder: files.order },
    },
  };
}

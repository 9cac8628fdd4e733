import { defineConfig } from 'vitest/config';

/** The tests beside the code that is changed; those that go through thousands of cases would take minutes for every change. */
export default defineConfig({
  test: {
    include: ['{internal/rotation,pkg/pki,pkg/machineconfig}/**/*.test.ts'],
    exclude: ['internal/rotation/{loop,properties}.test.ts', 'pkg/machineconfig/{laws,hard-input}.test.ts'],
    setupFiles: ['./test/support/setup.ts'],
    // Every change is tried in a process of its own; its test files share one copy of the modules.
    isolate: false,
    testTimeout: 60_000,
  },
});

/** Mutation testing of what decides, signs and renders; `main.ts` reads its report. */
export default {
  mutate: ['{internal/rotation,pkg/pki,pkg/machineconfig}/**/*.ts', '!**/*.test.ts'],
  testRunner: 'fresh-modules',
  plugins: ['./test/mutation/test-runner.ts'],
  coverageAnalysis: 'perTest',
  concurrency: 1,
  // Every mutant leaves a megabyte of modules behind.
  maxTestRunnerReuse: 300,
  // Loops that a mutant makes endless are found by counting; time alone says little on a machine that does other things.
  timeoutMS: 60_000,
  dryRunTimeoutMinutes: 30,
  // Stryker would rewrite tsconfig.json with an interface that TypeScript 7 does not have; nothing in it needs that.
  tsconfigFile: 'none',
  ignorePatterns: ['dist', 'docs'],
  cleanTempDir: 'always',
  reporters: ['clear-text', 'progress', 'json'],
  jsonReporter: { fileName: 'dist/mutation.json' },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
};

import { importsOf, type Source } from './sources.ts';

/** Who may import whom, by path prefix; the longest prefix that matches a file decides. */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  api: ['api', 'zod'],
  proto: ['proto'],
  'pkg/clock': ['pkg/clock'],
  'pkg/files': ['pkg/files'],
  'pkg/pki': ['pkg/pki', 'node-forge', '@peculiar/x509', 'reflect-metadata'],
  'pkg/bundle': ['pkg/bundle', 'pkg/pki', 'yaml', 'zod', 'age-encryption'],
  'pkg/machineconfig': ['pkg/machineconfig', 'pkg/pki', 'yaml'],
  'pkg/talos': ['pkg/talos', 'pkg/pki', 'pkg/clock', 'proto', '@grpc/grpc-js', '@bufbuild/protobuf', 'yaml'],
  'pkg/kube': ['pkg/kube', 'pkg/pki', 'pkg/clock', '@kubernetes/client-node', 'yaml'],
  'internal/rotation': ['internal/rotation', 'api', 'pkg/pki', 'pkg/machineconfig'],
  'internal/telemetry': ['internal/telemetry', 'api', 'pkg', 'pino'],
  'internal/store': ['internal/store', 'api', 'pkg', 'internal/rotation', 'zod', 'yaml'],
  'internal/controller': [
    'internal/controller',
    'internal/rotation',
    'internal/store',
    'internal/telemetry',
    'api',
    'pkg',
  ],
  'internal/simulator': [
    'internal/simulator',
    'internal/controller',
    'internal/rotation',
    'internal/store',
    'api',
    'pkg',
  ],
  'internal/lab': [
    'internal/lab',
    'internal/simulator',
    'internal/store',
    'api',
    'pkg',
    'proto',
    '@grpc/grpc-js',
    'yaml',
  ],
  // Judges ichor from outside: it starts the program, and shares nothing with it but what anybody may use.
  'internal/lane': ['internal/lane', 'api', 'pkg'],
  'internal/cli': [
    'internal/cli',
    'internal/controller',
    'internal/rotation',
    'internal/store',
    'internal/telemetry',
    'api',
    'pkg',
    'commander',
    'yaml',
  ],
  'internal/cli/commands/lab': ['internal', 'api', 'pkg', 'commander', 'yaml'],
  cmd: ['cmd', 'internal', 'api', 'pkg', 'reflect-metadata'],
  test: ['test', 'internal', 'api', 'pkg', 'proto', 'cmd', '*'],
};

/** Packages that only test files beside the source may import. */
const TEST_ONLY = ['vitest', 'fast-check', 'test/builders', 'test/support'];

/** Every import that the table does not allow, one sentence each. */
export function layerViolations(sources: readonly Source[]): string[] {
  const violations: string[] = [];
  for (const source of sources) {
    const layer = longestPrefix(source.path);
    if (layer === undefined) {
      violations.push(`${source.path}: belongs to no layer; add its folder to LAYERS in test/architecture/layers.ts`);
      continue;
    }
    // Tests may use anything that their layer and the test folder offer.
    const isTest = source.path.endsWith('.test.ts');
    const allowed = [
      ...(LAYERS[layer] ?? []),
      ...(isTest ? [...TEST_ONLY, 'pkg', 'pino', 'yaml', 'node-forge', '@peculiar/x509'] : []),
    ];
    for (const imported of importsOf(source)) {
      if (imported.startsWith('node:')) continue;
      if (!allowed.some((prefix) => prefix === '*' || imported === prefix || imported.startsWith(`${prefix}/`))) {
        violations.push(`${source.path}: imports ${imported}; ${layer} may import only ${allowed.join(', ')}`);
      }
    }
  }
  return violations;
}

function longestPrefix(path: string): string | undefined {
  return Object.keys(LAYERS)
    .filter((prefix) => path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}-`) || path === prefix)
    .sort((a, b) => b.length - a.length)[0];
}

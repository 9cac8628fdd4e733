import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const BIN = join(HERE, '..', 'node_modules', '.bin');

/**
 * What ts-proto is asked for: grpc-js client and server definitions; 64-bit
 * numbers as bigint (etcd member IDs are above 2^53); Buffers for bytes; const
 * objects for enums, because Node strips types and cannot run TypeScript enums.
 */
const OPTIONS = [
  'outputServices=grpc-js',
  'forceLong=bigint',
  'importSuffix=.ts',
  'enumsAsLiterals=true',
  'unrecognizedEnum=false',
  'esModuleInterop=true',
  'env=node',
  'oneof=unions-value',
  'useExactTypes=false',
  'outputJsonMethods=false',
  'exportCommonSymbols=false',
  'annotateFilesWithVersion=false',
  'comments=false',
];

/**
 * Generates `proto/generated` (or another folder) from the .proto files beside
 * this one. Needs no network: buf brings the compiler, the plugin is local.
 *
 * @throws Error with buf's own message, which names the file and the line, when a .proto file is wrong
 */
export function generate(target: string = join(HERE, 'generated')): void {
  const template = {
    version: 'v2',
    plugins: [{ local: join(BIN, 'protoc-gen-ts_proto'), out: resolve(target), opt: OPTIONS, strategy: 'all' }],
  };
  rmSync(target, { recursive: true, force: true });
  execFileSync(
    process.execPath,
    [
      join(BIN, '..', '@bufbuild', 'buf', 'bin', 'buf'),
      'generate',
      '.',
      '--include-imports',
      '--template',
      JSON.stringify(template),
    ],
    { cwd: HERE, stdio: ['ignore', 'inherit', 'pipe'], env: { ...process.env, PATH: `${BIN}:${process.env.PATH}` } },
  );
}

if (import.meta.main) generate();

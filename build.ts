import { chmod, readFile, rename, rm } from 'node:fs/promises';
import { build, type Plugin } from 'esbuild';

/**
 * Builds `dist/`, or the folder that is named as argument: `ichor.js`, which starts at once, and beside it the parts that
 * a command loads when it runs. One file for all would have to be read whole at
 * every start, which costs more than all the rest (measured: 10 x bare Node
 * against 1.3 x). Needs Node and nothing else to run.
 */
/** commander can run subcommands as programs of their own. Ours are none, and the module for it costs a third of the start. */
const withoutChildProcess: Plugin = {
  name: 'commander-without-child-process',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      importer.includes('/node_modules/commander/') ? { path: 'none', namespace: 'none' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: 'export default {};' }));
  },
};

const { version } = JSON.parse(await readFile(new URL('package.json', import.meta.url), 'utf8')) as { version: string };

const [folder = 'dist'] = process.argv.slice(2);
/** Built beside its place: a build that fails leaves the one before it. */
const draft = `${folder}.building`;
await rm(draft, { recursive: true, force: true });
await build({
  entryPoints: ['cmd/ichor/main.ts'],
  outdir: draft,
  entryNames: 'ichor',
  chunkNames: 'chunks/[name]-[hash]',
  splitting: true,
  plugins: [withoutChildProcess],
  bundle: true,
  minify: true,
  keepNames: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  // @peculiar/x509 is loaded lazily by its names, which only its ES build gives.
  mainFields: ['module', 'main'],
  legalComments: 'none',
  define: { ICHOR_VERSION: JSON.stringify(version) },
  // Errors are told by their names, and libraries in CommonJS ask for require and __dirname.
  banner: {
    js: [
      '#!/usr/bin/env node',
      "import { createRequire as ichorRequire } from 'node:module';",
      "import { dirname as ichorDirname } from 'node:path';",
      "import { fileURLToPath as ichorPath } from 'node:url';",
      'const require = ichorRequire(import.meta.url);',
      'const __filename = ichorPath(import.meta.url);',
      'const __dirname = ichorDirname(__filename);',
    ].join('\n'),
  },
});
await chmod(`${draft}/ichor.js`, 0o755);
// Chunks of an earlier build have other names and would stay.
await rm(folder, { recursive: true, force: true });
await rename(draft, folder);

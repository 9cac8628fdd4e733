import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { artefactPath, cacheDirectory, ensureArtefact } from '../support/artefact.ts';
import { duration, keepSaying, type Say, sayOnStderr } from '../support/clock-lines.ts';
import { run, tail } from '../support/run.ts';
import { PARTS, type Part, partNamed } from './parts.ts';
import { goVersionIn, hasPins, ldflagsOf, partKey, talosSourceKey } from './pins.ts';
import { copyTalosSource, GO_ENV } from './talos-source.ts';

/** Absolute path of the repository. */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** A program that is not there, and why. */
export interface MissingTool {
  readonly name: string;
  readonly reason: string;
}

/**
 * Builds what is missing of the real parts, or of those named in `only`.
 * What cannot be built is left to `missingTools`, unless `required`: then it
 * throws one error that names every such program and its reason.
 */
export async function ensureTools(options: { required: boolean; only?: readonly string[]; say?: Say }): Promise<void> {
  const say = options.say ?? sayOnStderr;
  const wanted = options.only === undefined ? PARTS : options.only.map(partNamed);
  const toBuild = wanted.filter((part) => locate(part).path === undefined && buildable(part));
  const begin = Date.now();
  for (const [index, part] of toBuild.entries()) {
    await buildPart(part, (line) => say(`tools ${index + 1}/${toBuild.length}: ${line}`));
  }
  if (toBuild.length > 0) say(`tools: done in ${duration(Date.now() - begin)}, kept in ${cacheDirectory()}`);
  const missing = missingTools(wanted.map((part) => part.name));
  if (options.required && missing.length > 0) {
    throw new Error(`real parts are missing:\n${missing.map(({ name, reason }) => `  ${name}: ${reason}`).join('\n')}`);
  }
}

/** Absolute path of a program; throws with the reason and what to do when it is not there. */
export function toolPath(name: string): string {
  const found = locate(partNamed(name));
  if (found.path !== undefined) return found.path;
  throw new Error(`${name} is missing: ${found.reason}`);
}

/** Which of the named programs are not there, and why. */
export function missingTools(names: readonly string[]): MissingTool[] {
  return names.flatMap((name) => {
    const found = locate(partNamed(name));
    return found.path === undefined ? [{ name, reason: found.reason }] : [];
  });
}

/** Where a part is: ready-made in a named directory, or built in the cache. */
function locate(part: Part): { path: string; reason?: never } | { path?: undefined; reason: string } {
  for (const directory of readyMade()) {
    const path = join(directory, part.name);
    if (existsSync(path)) return { path };
  }
  const key = keyOf(part);
  if (typeof key !== 'string') return key;
  const path = join(artefactPath(cacheDirectory(), { name: `tools/${part.name}`, key }), part.name);
  if (existsSync(path)) return { path };
  const failure = failureFile(part, key);
  if (existsSync(failure)) return { reason: readFileSync(failure, 'utf8').trim() };
  return { reason: 'not built yet; npm run tools builds it' };
}

function buildable(part: Part): boolean {
  return typeof keyOf(part) === 'string';
}

function keyOf(part: Part): string | { reason: string } {
  if (part.linuxOnly && process.platform !== 'linux') return { reason: 'it runs on Linux only' };
  if (!hasPins(ROOT, part)) return { reason: `its pins are not there: ${part.module}/go.mod` };
  const version = goVersionIn(join(ROOT, part.module));
  if (version !== undefined) return partKey(ROOT, part, version);
  return {
    reason: `Go is not installed to build it (${part.module}/go.mod says which version); or name a directory that has it in ICHOR_TOOLS`,
  };
}

/** The directories of ready-made programs that the environment names. */
function readyMade(): string[] {
  return [process.env.ICHOR_TOOLS, process.env.KUBEBUILDER_ASSETS].flatMap(
    (value) => value?.split(delimiter).filter((directory) => directory !== '') ?? [],
  );
}

async function buildPart(part: Part, say: Say): Promise<void> {
  const key = keyOf(part);
  if (typeof key !== 'string') return;
  const cache = cacheDirectory();
  const failure = failureFile(part, key);
  rmSync(failure, { force: true });
  const begin = Date.now();
  try {
    const folder = part.fromTalosSource ? await ensureTalosSource(say) : join(ROOT, part.module);
    await ensureArtefact(
      cache,
      {
        name: `tools/${part.name}`,
        key,
        make: async (out) => {
          say(`building ${part.name}`);
          using _saying = keepSaying(say, `building ${part.name}`);
          await goBuild(part, folder, out);
        },
      },
      (owner) => say(`waiting for process ${owner.pid}, which is ${owner.purpose}`),
    );
    say(`${part.name} done in ${duration(Date.now() - begin)}`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    mkdirSync(dirname(failure), { recursive: true });
    writeFileSync(failure, `building it failed: ${message}\n`);
    say(`${part.name} failed: ${message}`);
  }
}

/** Why the last build of exactly these pins failed; other processes read it. */
function failureFile(part: Part, key: string): string {
  return join(cacheDirectory(), 'failures', `${part.name}-${key}`);
}

/** The folder in which Talos is built: our pins, and below it in `talos` the edited copy of its source. */
export function ensureTalosSource(say: Say = sayOnStderr): Promise<string> {
  return ensureArtefact(
    cacheDirectory(),
    {
      name: 'source/talos',
      key: talosSourceKey(ROOT),
      make: (out) => copyTalosSource(join(ROOT, 'test/tools'), out),
    },
    (owner) => say(`waiting for process ${owner.pid}, which is ${owner.purpose}`),
  );
}

/** Without cgo and without paths, so that the program runs anywhere and does not depend on where it was built. */
async function goBuild(part: Part, folder: string, out: string): Promise<void> {
  await mkdir(out);
  const flags = ['-trimpath', '-ldflags', ldflagsOf(ROOT, part), '-tags', part.tags ?? ''];
  const result = await run('go', ['build', ...flags, '-o', join(out, part.name), part.package], {
    cwd: folder,
    env: GO_ENV,
    timeoutMs: 3_600_000,
  });
  if (result.code !== 0) throw new Error(`go build ${part.package} in ${part.module}: ${tail(result.stderr)}`);
}

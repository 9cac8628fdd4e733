import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Part } from './parts.ts';
import { EDITS, GO_ENV } from './talos-source.ts';

/** The linker flags of a part, the pinned version filled in. */
export function ldflagsOf(root: string, part: Part): string {
  const version = part.versionOf === undefined ? '' : pinnedVersion(root, part.module, part.versionOf);
  const filled = (part.ldflags ?? '')
    .replaceAll('{version}', version)
    .replaceAll('{number}', version.slice(1))
    .replaceAll('{minor}', version.split('.')[1] ?? '');
  return `-s -w ${filled}`.trimEnd();
}

/** The version that a folder's go.mod requires of a module, such as `v1.37.2`. */
export function pinnedVersion(root: string, folder: string, module: string): string {
  const text = readFileSync(join(root, folder, 'go.mod'), 'utf8');
  for (const line of text.split('\n')) {
    const words = line
      .trim()
      .replace(/^require /, '')
      .split(' ');
    if (words[0] === module && words[1]?.startsWith('v')) return words[1];
  }
  throw new Error(`${folder}/go.mod does not require ${module}`);
}

/** The key under which a part is kept: it changes with Go's version, the platform, every pin and every flag. */
export function partKey(root: string, part: Part, goVersion: string): string {
  const source = part.fromTalosSource ? talosSourceKey(root) : hashTree(join(root, part.module));
  return hash(goVersion, process.platform, process.arch, source, part.package, ldflagsOf(root, part), part.tags ?? '');
}

/** The key of the edited Talos source. */
export function talosSourceKey(root: string): string {
  const tools = join(root, 'test/tools');
  return hash(hashTree(join(tools, 'talos')), hashTree(join(tools, 'talos-source')), JSON.stringify(EDITS));
}

/** Go does not change while we run, and asking it takes longer than all the rest. */
const goVersions = new Map<string, string | undefined>();

/** Go's version in that folder (its go.mod may choose another toolchain); undefined without Go. */
export function goVersionIn(folder: string): string | undefined {
  if (!goVersions.has(folder)) goVersions.set(folder, askGoVersion(folder));
  return goVersions.get(folder);
}

function askGoVersion(folder: string): string | undefined {
  try {
    const options = { cwd: folder, env: { ...process.env, ...GO_ENV }, encoding: 'utf8' as const };
    return execFileSync('go', ['env', 'GOVERSION'], { ...options, stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

/** A short key of texts, in their order. */
export function hash(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);
}

/** A key of the names and contents of all files below a folder. */
export function hashTree(folder: string): string {
  const lines: string[] = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const content = createHash('sha256').update(readFileSync(path)).digest('hex');
    lines.push(`${relative(folder, path)} ${content}`);
  }
  return hash(...lines.sort());
}

/** Whether a part's folder is there at all. */
export function hasPins(root: string, part: Part): boolean {
  return existsSync(join(root, part.module, 'go.mod'));
}

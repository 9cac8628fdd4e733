import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Absolute path of the repository. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** One source file, its path relative to the repository with forward slashes. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

const SKIPPED = new Set(['node_modules', 'dist', '.git', 'generated', 'testdata', 'coverage']);

/** Every TypeScript file below the given top-level folders, generated ones left out, sorted by path. */
export function readSources(folders: readonly string[]): Source[] {
  const found: Source[] = [];
  for (const folder of folders) walk(join(ROOT, folder), found);
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function walk(directory: string, found: Source[]): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (!SKIPPED.has(entry.name)) walk(path, found);
    } else if (entry.name.endsWith('.ts')) {
      found.push({ path: relative(ROOT, path), text: readFileSync(path, 'utf8') });
    }
  }
}

/**
 * What a file imports: repository paths for relative imports, the bare
 * specifier otherwise. Comments are dropped first, so that an example in a
 * docstring is not an import.
 */
export function importsOf(source: Source): string[] {
  const text = withoutComments(source.text);
  // Statements stand at the start of a line; an expression `import(...)` may stand anywhere.
  const pattern =
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;
  const imports: string[] = [];
  for (const match of text.matchAll(pattern)) {
    const specifier = match[1] ?? match[2] ?? match[3] ?? '';
    imports.push(specifier.startsWith('.') ? posix.join(posix.dirname(source.path), specifier) : specifier);
  }
  return imports;
}

/** The text without comments; strings are kept, so a `//` inside one does not end the line. */
export function withoutComments(text: string): string {
  return text.replaceAll(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
    (_all, string: string | undefined) => string ?? ' ',
  );
}

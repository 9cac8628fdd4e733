import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Modules of a tree that are loaded anew whenever that is asked for; packages stay as they are. */
export interface FreshModules {
  /**
   * From now on imports give new copies, as in a new process: of every file, or of
   * those alone that reach this one. Nothing of what it holds is in any other.
   */
  renew(changed?: string): void;
  /** Imports a file of the tree, by its path in it. */
  load(path: string): Promise<unknown>;
  /** Files of the tree that this one has imported so far, itself among them. */
  reachedFrom(path: string): ReadonlySet<string>;
}

/**
 * Loading a tree's modules a second time in the same process takes some fifteen
 * milliseconds, starting a process or a thread for them takes a second. The old
 * copies are never let go, up to a megabyte each time, so the process must end at times.
 *
 * @param standIns modules by the specifier that they are found under, as `file:` URLs
 */
export function freshModules(root: string, standIns: Readonly<Record<string, string>>): FreshModules {
  const prefix = pathToFileURL(join(root, '/')).href;
  const sources = new Map<string, string>();
  const imports = new Map<string, Set<string>>();
  /** By path, the generation in which a file is loaded anew; none before it has been loaded twice. */
  const copies = new Map<string, number>();
  let generation = 0;

  const isOurs = (url: string | undefined) => url?.startsWith(prefix) === true && !url.includes('/node_modules/');
  const pathOf = (url: string) => relative(root, fileURLToPath(url.replace(/\?.*/, '')));

  registerHooks({
    resolve(specifier, context, next) {
      const standIn = standIns[specifier];
      if (standIn !== undefined && isOurs(context.parentURL)) return { url: standIn, shortCircuit: true };
      const resolved = next(specifier, context);
      if (!isOurs(resolved.url) || !resolved.url.endsWith('.ts')) return resolved;
      const path = pathOf(resolved.url);
      importsOf(path);
      if (context.parentURL !== undefined && isOurs(context.parentURL)) importsOf(pathOf(context.parentURL)).add(path);
      return { ...resolved, url: `${resolved.url}?${copies.get(path) ?? 0}`, format: 'module' };
    },
    load(url, context, next) {
      if (!isOurs(url) || !/\.ts\?\d+$/.test(url)) return next(url, context);
      const path = pathOf(url);
      const source = sources.get(path) ?? stripTypeScriptTypes(readFileSync(join(root, path), 'utf8'));
      sources.set(path, source);
      return { format: 'module', source, shortCircuit: true };
    },
  });

  function importsOf(path: string): Set<string> {
    const known = imports.get(path) ?? new Set();
    imports.set(path, known);
    return known;
  }

  function reachedFrom(path: string): Set<string> {
    const reached = new Set([path]);
    // A set goes on through what is added meanwhile.
    for (const each of reached) for (const imported of importsOf(each)) reached.add(imported);
    return reached;
  }

  return {
    renew(changed) {
      generation += 1;
      const isStale = (path: string) => changed === undefined || reachedFrom(path).has(changed);
      for (const path of imports.keys()) if (isStale(path)) copies.set(path, generation);
    },
    load: (path) => import(pathToFileURL(join(root, path)).href),
    reachedFrom,
  };
}

/** Test files in the order in which they may notice a change of a file: its own, those of its folder, all others. */
export function nearestFirst(tests: readonly string[], changed: string): string[] {
  const distance = (test: string) => {
    if (test.replace(/\.test\.ts$/, '.ts') === changed) return 0;
    return dirname(test) === dirname(changed) ? 1 : 2;
  };
  return [...tests].sort((a, b) => distance(a) - distance(b));
}

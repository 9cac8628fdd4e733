import { realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { isStoreName } from '../store/index.ts';
import { CliError } from './cli-error.ts';

/**
 * Refuses a file that somebody named to be written where it is one of those that the cluster directory consists of,
 * there or not: in the place of the record or of an operation it would end a rotation under way, and the new keys of
 * that with it. By whatever path it is named: through links, and in whatever case a file system takes for the same.
 * Errors: `refused`, with the name that it has in the directory.
 */
export async function refuseOwnFile(path: string, directory: string): Promise<void> {
  const own = await ownNameOf(path, directory);
  if (own === undefined) return;
  throw new CliError(
    'refused',
    `${path} is ${own} of the cluster directory, where nothing else is written`,
    'Name another file. Nothing was changed.',
  );
}

async function ownNameOf(path: string, directory: string): Promise<string | undefined> {
  const { dev, ino } = await stat(directory, { bigint: true });
  const place = await withoutLinks(path);
  for (let folder = dirname(place); ; folder = dirname(folder)) {
    const found = await stat(folder, { bigint: true }).catch(() => undefined);
    if (found?.dev === dev && found.ino === ino) {
      const name = relative(folder, place);
      // Where a file system minds the case, one such name more is refused than must be.
      return isStoreName((name.split(sep)[0] ?? '').toLowerCase()) ? name : undefined;
    }
    if (folder === dirname(folder)) return undefined;
  }
}

/** The path without links above its last name; folders that are not there yet stay as they are named. */
async function withoutLinks(path: string): Promise<string> {
  const folder = dirname(path);
  if (folder === path) return path;
  const above = await realpath(folder).catch(() => withoutLinks(folder));
  return join(above, relative(folder, path));
}

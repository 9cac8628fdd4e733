import { join } from 'node:path';
import { fromFileSystem, missingBundle, StoreError } from './error.ts';
import type { FileFacts, StoreFileSystem } from './file-system.ts';

/** Who may own the files, and where to look. */
export interface ModeOptions {
  readonly directory: string;
  /** The user that we run as; nothing where the system has no such thing. */
  readonly uid: number | undefined;
}

const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/**
 * Makes sure that only the owner can read the store: folders 0700, files 0600. Looser modes are tightened, and each one is
 * returned as a sentence. Refused: a folder or file of another user (who could exchange it under us), and symbolic links
 * (an atomic replacement would replace the link and leave the file behind it as it was).
 *
 * A folder without a bundle is no cluster's: nothing in it is touched. Somebody who forgets `--dir` stands in a home, in
 * `/tmp` or in `/`, and closing one of those to everybody else would break that machine.
 */
export async function tightenModes(files: StoreFileSystem, options: ModeOptions): Promise<string[]> {
  const { directory } = options;
  const facts = await look(files, directory);
  if (facts === undefined)
    throw new StoreError('missing', directory, 'there is no such folder. ichor cluster import makes one');
  if (facts.kind !== 'directory')
    throw new StoreError('foreign', directory, 'is no folder (a symbolic link is not followed)');
  const bundle = join(directory, 'secrets.yaml');
  if ((await look(files, bundle)) === undefined) throw missingBundle(bundle);
  const repairs: string[] = [];
  await tightenTree(files, options, { path: directory, depth: 0, repairs });
  return repairs;
}

interface Visit {
  readonly path: string;
  readonly depth: number;
  readonly repairs: string[];
}

async function tightenTree(files: StoreFileSystem, options: ModeOptions, visit: Visit): Promise<void> {
  const { path, depth, repairs } = visit;
  const facts = await look(files, path);
  if (facts === undefined) return;
  if (facts.kind === 'other')
    throw new StoreError('foreign', path, 'is a symbolic link or a special file; put the file itself here');
  if (options.uid !== undefined && facts.uid !== options.uid) {
    throw new StoreError(
      'foreign',
      path,
      `belongs to user ${facts.uid}, and this process runs as user ${options.uid}. Run it as that user, or take the file over (chown)`,
    );
  }
  const wanted = facts.kind === 'directory' ? DIRECTORY_MODE : FILE_MODE;
  if ((facts.mode & 0o077) !== 0) {
    await tighten(files, path, wanted);
    repairs.push(`${path} could be read by others (mode ${octal(facts.mode)}); it is ${octal(wanted)} now`);
  }
  // A store is two levels deep; whatever else somebody keeps below is not ours to change.
  if (facts.kind !== 'directory' || depth >= 2) return;
  for (const name of (await files.list(path)).sort()) {
    if (depth > 0 || isStoreName(name))
      await tightenTree(files, options, { path: join(path, name), depth: depth + 1, repairs });
  }
}

/**
 * Whether a file or a folder of this name, in the folder of a cluster, is one that a store keeps. The whole name counts:
 * somebody else's `archive.tar`, or a link `kubeconfig-prod`, is not ours to change or to refuse.
 */
export function isStoreName(name: string): boolean {
  return (
    /^(operations|archive|lock|audit\.jsonl|(secrets|rotation|keyrotation)\.yaml)$/.test(name) ||
    /^secrets\.previous-[0-9a-f]{12}\.yaml$/.test(name) ||
    /^(talosconfig|kubeconfig)(\.new|\.old)?$/.test(name)
  );
}

/** What is there; a folder that we may not enter, or a name that is too long, is the person's to mend and no mistake of ours. */
async function look(files: StoreFileSystem, path: string): Promise<FileFacts | undefined> {
  try {
    return await files.facts(path);
  } catch (cause) {
    throw fromFileSystem(cause, path, { doing: 'look at it', outcome: 'not-done' });
  }
}

async function tighten(files: StoreFileSystem, path: string, mode: number): Promise<void> {
  try {
    await files.chmod(path, mode);
  } catch (cause) {
    throw fromFileSystem(cause, path, { doing: `close it to other users (chmod ${octal(mode)})`, outcome: 'not-done' });
  }
}

function octal(mode: number): string {
  return `0${mode.toString(8)}`;
}

import { type Say, sayOnStderr } from '../support/clock-lines.ts';
import { PARTS } from '../tools/parts.ts';
import { ensureTools } from '../tools/tools.ts';
import { ensureDebian } from './build/debian.ts';
import { ensureSystemImages, ensureWorkloadImages } from './build/images.ts';
import { ensureRootfs } from './build/rootfs.ts';

/** Programs that a cluster does not need. */
const NOT_NEEDED = ['etcdutl', 'configjudge'];

/** Names of all programs that a cluster is made of. */
export const RIG_TOOLS: readonly string[] = PARTS.map(({ name }) => name).filter((name) => !NOT_NEEDED.includes(name));

/** Programs of `test/talos/workloads`, by the names of their images. */
const WORKLOADS = PARTS.map(({ name }) => name)
  .filter((name) => name.startsWith('workload-'))
  .map((name) => name.slice('workload-'.length));

/** What every cluster is made of, all of it read-only and shared. */
export interface PreparedParts {
  readonly rootfs: string;
  readonly images: readonly string[];
}

/** Builds what is missing of the programs, the root file system and the images; seconds when nothing is. */
export async function prepareParts(say: Say = sayOnStderr): Promise<PreparedParts> {
  await ensureTools({ required: true, only: RIG_TOOLS, say });
  const debian = await ensureDebian();
  return {
    rootfs: await ensureRootfs(debian),
    images: [await ensureSystemImages(debian), await ensureWorkloadImages(WORKLOADS)],
  };
}

import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { toolPath } from '../tools/tools.ts';

/** A directory of links for people's PATH. */
export async function toolDirectory(clusterFiles: string): Promise<string> {
  const directory = join(clusterFiles, 'rig/bin');
  await mkdir(directory, { recursive: true });
  for (const name of ['talosctl', 'kubectl', 'etcdctl']) {
    const link = join(directory, name);
    if (!existsSync(link)) await symlink(toolPath(name), link);
  }
  return directory;
}

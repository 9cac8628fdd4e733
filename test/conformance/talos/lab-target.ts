import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Lab, startLab } from '../../../internal/lab/index.ts';
import { realTarget } from './real-target.ts';
import type { TalosTarget } from './target.ts';

/** A tenth of what a boot was measured to take. */
const BOOT_SECONDS = 1.3;

/** A lab, as the suite sees it: what its machines serve and what its files say, as with real ones. Ends with the target. */
export async function labTarget(options: {
  readonly controlPlanes: number;
  readonly workers: number;
}): Promise<AsyncDisposable & { readonly target: TalosTarget; readonly lab: Lab }> {
  const directory = await mkdtemp(join(tmpdir(), 'ichor-lab-'));
  const lab = await startLab({ ...options, directory, talosVersion: '1.14.1', bootSeconds: BOOT_SECONDS });
  const target = await realTarget({
    machines: [...lab.world.machines()],
    secretsFile: join(directory, 'secrets.yaml'),
    talosconfigFile: join(directory, 'talosconfig'),
  });
  return {
    target,
    lab,
    async [Symbol.asyncDispose]() {
      await lab.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

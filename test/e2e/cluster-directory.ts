import { rmSync } from 'node:fs';
import { chmod, copyFile, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit } from '../support/leaving.ts';
import type { TalosCluster } from '../talos/cluster.ts';

/** A cluster directory as an operator has it: secrets.yaml, talosconfig and kubeconfig, and nothing else. */
export interface OperatorDirectory extends AsyncDisposable {
  readonly path: string;
  /** Puts the credentials that it holds now into the rig's own directory, so that its talosctl and kubectl go on working. */
  handBack(): Promise<void>;
}

/** Copies the files of a rig cluster into a directory of its own. */
export async function operatorDirectory(cluster: TalosCluster): Promise<OperatorDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'ichor-e2e-'));
  const remove = () => rmSync(path, { recursive: true, force: true });
  // It holds every key of the cluster: it does not outlive a program that is told to end either.
  const atEnd = atExit(remove);
  await chmod(path, 0o700);
  const files = {
    'secrets.yaml': cluster.secretsFile,
    talosconfig: cluster.talosconfigFile,
    kubeconfig: cluster.kubeconfigFile,
  };
  for (const [name, source] of Object.entries(files)) {
    await copyFile(source, join(path, name));
    await chmod(join(path, name), 0o600);
  }
  return {
    path,
    async handBack() {
      for (const [name, target] of Object.entries(files)) await copyFile(join(path, name), target);
    },
    async [Symbol.asyncDispose]() {
      atEnd[Symbol.dispose]();
      remove();
    },
  };
}

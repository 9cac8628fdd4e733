import { join } from 'node:path';
import { readTalosconfigFile, type Talosconfig, writeTalosconfigFile } from '../../../pkg/talos/index.ts';
import type { Step } from '../model.ts';
import { checkEnd, rotate } from '../rotate.ts';

/** The default pair, with one control plane as the only endpoint: its API server restarts while credentials are handed over. */
export const handOff: Step = {
  id: 'hand-off',
  title: 'Rotate the Talos and the Kubernetes CA through a single endpoint',
  stands: ['second list, 4'],
  disturbs: 'restarts every kube-apiserver and kubelet, one machine at a time, and replaces talosconfig and kubeconfig',
  async run(context, checks) {
    const path = join(context.directory, 'talosconfig');
    const endpoints = await changeEndpoints(path, (all) => all.slice(0, 1));
    try {
      const rotated = await rotate(context, ['talos', 'kubernetes']);
      checks.that(
        'the hand-off completes by itself, after whatever refused a connection meanwhile',
        rotated.code === 0 && rotated.output.includes('the new credentials are in use'),
        rotated.output.includes('waiting for the Kubernetes API')
          ? 'it had to wait, and said so'
          : 'nothing refused it',
      );
      await checkEnd(context, checks, rotated);
    } finally {
      await changeEndpoints(path, () => endpoints);
    }
    const { code } = await context.ichor.run(['cluster', 'status']);
    checks.that('the new talosconfig works with all endpoints again', code === 0, `exit code ${code}`);
  },
};

/** @returns the endpoints of the selected context as they were */
async function changeEndpoints(
  path: string,
  change: (endpoints: readonly string[]) => readonly string[],
): Promise<readonly string[]> {
  const config: Talosconfig = await readTalosconfigFile(path);
  const selected = config.contexts[config.context];
  if (selected === undefined) throw new Error(`${path} has no context "${config.context}"`);
  const contexts = { ...config.contexts, [config.context]: { ...selected, endpoints: change(selected.endpoints) } };
  await writeTalosconfigFile(path, { ...config, contexts });
  return selected.endpoints;
}

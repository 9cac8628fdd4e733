import { join } from 'node:path';
import { Secret } from '../../../pkg/pki/index.ts';
import { parseTalosconfig, type TalosContext, type Talosconfig, writeTalosconfig } from '../../../pkg/talos/index.ts';
import { type KubeconfigText, mergeKubeconfig } from './kubeconfig-text.ts';
import { readPrivateFile, removePrivateFile, writePrivateFile } from './private-file.ts';

/** Kept in the place of a file that was not there before: what was taken instead is of no use once it is given back. */
const NONE = '';

/** The two files with which people reach a cluster. */
const NAMES = ['talosconfig', 'kubeconfig'] as const;

/** Text of the two files; one that is not there is absent. */
export interface CredentialTexts {
  readonly talosconfig: string | undefined;
  readonly kubeconfig: string | undefined;
}

/**
 * The credentials in a cluster directory. During a hand-off there are three
 * generations: `talosconfig` and `kubeconfig` are in use; `*.new` were written
 * and verified and wait to be taken; `*.old` were in use before, and are kept
 * until the rotation is over, for the case that it is abandoned.
 */
export interface CredentialFiles {
  path(name: (typeof NAMES)[number]): string;
  read(): Promise<CredentialTexts>;
  /** Writes the next generation beside the one in use. */
  offer(texts: { readonly talosconfig: string; readonly kubeconfig: string }): Promise<void>;
  /** The next generation comes into use; the first one that was in use is kept. */
  take(): Promise<void>;
  /** The generation from before the rotation, as far as it is kept. */
  readOld(): Promise<CredentialTexts>;
  /** What was in use before comes back: the rotation was abandoned. */
  restore(): Promise<void>;
  /** The rotation is over: only what is in use stays. */
  settle(): Promise<void>;
  /** Replaces what is in use, outside of a hand-off. */
  write(texts: Partial<{ readonly talosconfig: string; readonly kubeconfig: string }>): Promise<void>;
}

/** The credentials of the cluster in this directory. */
export function credentialFiles(directory: string): CredentialFiles {
  const path = (name: string) => join(directory, name);
  const readAll = async (suffix: string): Promise<CredentialTexts> => ({
    talosconfig: await readPrivateFile(path(`talosconfig${suffix}`)),
    kubeconfig: await readPrivateFile(path(`kubeconfig${suffix}`)),
  });
  return {
    path,
    read: () => readAll(''),
    async offer(texts) {
      for (const name of NAMES) await writePrivateFile(path(`${name}.new`), texts[name]);
    },
    async take() {
      for (const name of NAMES) {
        const next = await readPrivateFile(path(`${name}.new`));
        if (next === undefined) continue;
        const current = await readPrivateFile(path(name));
        // Taken twice (after a crash, by two people), the generation from before the rotation stays the one from before.
        const isKept = (await readPrivateFile(path(`${name}.old`))) !== undefined;
        if (!isKept) await writePrivateFile(path(`${name}.old`), current ?? NONE);
        await writePrivateFile(path(name), next);
        await removePrivateFile(path(`${name}.new`));
      }
    },
    async readOld() {
      const { talosconfig, kubeconfig } = await readAll('.old');
      return { talosconfig: talosconfig || undefined, kubeconfig: kubeconfig || undefined };
    },
    async restore() {
      for (const name of NAMES) {
        const old = await readPrivateFile(path(`${name}.old`));
        if (old === NONE) await removePrivateFile(path(name));
        else if (old !== undefined) await writePrivateFile(path(name), old);
        await removePrivateFile(path(`${name}.old`));
        await removePrivateFile(path(`${name}.new`));
      }
    },
    async settle() {
      for (const name of NAMES) {
        await removePrivateFile(path(`${name}.old`));
        await removePrivateFile(path(`${name}.new`));
      }
    },
    async write(texts) {
      for (const name of NAMES) {
        const next = texts[name];
        if (next !== undefined) await writePrivateFile(path(name), next);
      }
    },
  };
}

/** The talosconfig with this context in the place of the one of that name, which becomes the selected one. */
export function talosconfigWith(text: string | undefined, where: string, name: string, context: TalosContext): string {
  const held: Talosconfig = text === undefined ? { context: '', contexts: {} } : parseTalosconfig(text, where);
  return writeTalosconfig({ context: name, contexts: { ...held.contexts, [name]: context } });
}

/** The kubeconfig with the entries of `added` in the place of those of the same names. */
export async function kubeconfigWith(text: string | undefined, where: string, added: KubeconfigText): Promise<string> {
  const merged = await mergeKubeconfig(text === undefined ? undefined : Secret.of('kubeconfig', text), added, where);
  return merged.expose();
}

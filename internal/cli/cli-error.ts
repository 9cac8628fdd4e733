import type { ExitName } from './exit-codes.ts';

/**
 * Why a command ends without having done what was asked, in words for people:
 * what was being done, to which machine or file, what was found, what was
 * expected. `advice` says what to do next.
 */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exit: ExitName;
  readonly advice: string | undefined;

  constructor(exit: ExitName, message: string, advice?: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.exit = exit;
    this.advice = advice;
  }
}

/** What is printed, and how the process ends, for anything that was thrown. */
export interface Explained {
  readonly exit: ExitName;
  readonly message: string;
  readonly advice: string | undefined;
}

/**
 * How errors of the lower layers end the process. They are told by their names,
 * so that the modules which define them are not loaded to print a usage error.
 */
const EXIT_OF: Readonly<Record<string, ExitName>> = {
  TalosError: 'unreachable',
  KubeError: 'unreachable',
  BundleError: 'directory',
  StoreError: 'directory',
  TalosconfigError: 'directory',
  KubeconfigError: 'directory',
  MachineConfigError: 'directory',
  PkiError: 'directory',
};

/** Turns whatever was thrown into a message and an exit; only what we did not foresee counts as a mistake of ours. */
export function explain(error: unknown): Explained {
  // What was given back on the way out failed as well; why the command ends is what came before.
  if (error instanceof SuppressedError) return explain(error.suppressed);
  if (error instanceof CliError) return { exit: error.exit, message: error.message, advice: error.advice };
  if (error instanceof Error && error.name === 'AbortError') {
    return { exit: 'detached', message: 'interrupted; run the same command again', advice: undefined };
  }
  if (!(error instanceof Error)) return { exit: 'internal', message: String(error), advice: undefined };
  if (error.name === 'StoreError' && 'kind' in error && error.kind === 'locked') {
    return { exit: 'locked', message: error.message, advice: undefined };
  }
  if (error.name === 'LabError') return explainLab(error);
  if (error.name === 'BundleError' && 'kind' in error && error.kind === 'recipient') {
    return { exit: 'usage', message: error.message, advice: 'Check --recipient. Nothing was written.' };
  }
  const exit = EXIT_OF[error.name];
  if (exit !== undefined) return { exit, message: error.message, advice: adviceAbout(error) };
  return { exit: 'internal', message: `${error.name}: ${error.message}`, advice: error.stack };
}

/** A lab says itself what to do. */
function explainLab(error: Error & { readonly kind?: unknown; readonly advice?: unknown }): Explained {
  const exit = error.kind === 'usage' || error.kind === 'directory' ? error.kind : 'refused';
  return { exit, message: error.message, advice: typeof error.advice === 'string' ? error.advice : undefined };
}

/** What a person can do about an error of a lower layer, where that layer cannot know the commands. */
function adviceAbout(error: Error & { readonly kind?: unknown; readonly path?: unknown; readonly field?: unknown }) {
  const { name, kind, path, field } = error;
  const isFile = (end: string): boolean => field === undefined && String(path).endsWith(end);
  if (kind === 'missing' && isFile('talosconfig')) {
    // A lost talosconfig is no dead end: the bundle has the CA that issues another one.
    return 'If it is lost: ichor cluster credentials --endpoint ADDRESS of a control plane makes another one from secrets.yaml.';
  }
  if (name === 'StoreError' && kind === 'missing' && isFile('secrets.yaml')) {
    return 'Name the directory of the cluster with --dir, or make one: ichor cluster import --dir DIRECTORY.';
  }
  if (name === 'BundleError' && kind === 'identity') return 'Name the identity file: --identity FILE.';
  if (name === 'BundleError' && kind === 'passphrase')
    return 'It is asked for on a terminal, or read from ICHOR_PASSPHRASE.';
  if (name !== 'TalosError') return undefined;
  if (kind === 'untrusted-server') {
    return 'The machine serves a certificate of another CA than these credentials name: they are of another cluster, or of before a rotation.';
  }
  if (kind === 'untrusted-client') {
    return 'The machine does not take our certificate: it has expired, or is of before a rotation. Beside secrets.yaml, ichor cluster credentials makes a new one.';
  }
  return undefined;
}

import { chmod, cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { output } from '../support/run.ts';

/** One exact edit of Talos's source: `old` must be there once, and becomes `new`. */
export interface Edit {
  readonly file: string;
  readonly old: string;
  readonly new: string;
  readonly why: string;
}

const MACHINED = 'internal/app/machined/pkg';

/**
 * What the environment forces. Talos cannot be imported, because machined is
 * internal to its module, so a copy of the published module is edited and built.
 */
export const EDITS: readonly Edit[] = [
  {
    file: `${MACHINED}/runtime/mode.go`,
    old: 'Reboot|Shutdown|Upgrade|Rollback|MetaKV',
    new: 'Upgrade|Rollback|MetaKV',
    why: 'Container mode forbids reboot and shutdown because nothing would start the container again; here a supervisor does.',
  },
  {
    file: `${MACHINED}/system/runner/process/process.go`,
    old: 'pathError.Err != syscall.ENOENT',
    new: 'pathError.Err != syscall.ENOENT && pathError.Err != syscall.EACCES && pathError.Err != syscall.EPERM',
    why: 'A host without CAP_SYS_RESOURCE refuses to lower OOM scores.',
  },
  {
    file: `${MACHINED}/controllers/runtime/boot_id.go`,
    old: 'ctrl.V1Alpha1Mode.InContainer()',
    new: 'false',
    why: "Container mode does not publish the boot ID, since it is the host's; here every boot of a machine has its own.",
  },
];

/** The environment in which Go works on our pins: nothing above the folder and no change of go.mod counts. */
export const GO_ENV = { CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-buildvcs=false -mod=readonly' };

/** Fills `out` with the module folder `talos` of our pins and, below it, the edited copy of the Talos source. */
export async function copyTalosSource(toolsFolder: string, out: string): Promise<void> {
  const pins = join(toolsFolder, 'talos-source');
  const module = 'github.com/siderolabs/talos';
  // Checked against go.sum by the go command.
  await output('go', ['mod', 'download', module], { cwd: pins, env: GO_ENV });
  const source = (await output('go', ['list', '-m', '-f', '{{.Dir}}', module], { cwd: pins, env: GO_ENV })).trim();
  await cp(join(toolsFolder, 'talos'), out, { recursive: true });
  await cp(source, join(out, 'talos'), { recursive: true });
  await makeWritable(join(out, 'talos'));
  for (const edit of EDITS) await applyEdit(join(out, 'talos'), edit);
}

/** Makes one edit; a text that is not there exactly once stops the build, so no version is built half edited. */
export async function applyEdit(source: string, edit: Edit): Promise<void> {
  const path = join(source, edit.file);
  const parts = (await readFile(path, 'utf8')).split(edit.old);
  if (parts.length !== 2) {
    throw new Error(
      `Talos source ${edit.file}: found "${edit.old}" ${parts.length - 1} times, expected once; adapt EDITS`,
    );
  }
  await writeFile(path, parts.join(edit.new));
}

/** The module cache is read-only, and so is a copy of it. */
async function makeWritable(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await makeWritable(path);
    else if (entry.isFile()) await chmod(path, 0o644);
  }
}

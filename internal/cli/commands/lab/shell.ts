import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { makeFolder } from '../../../../pkg/files/index.ts';
import { askLab, type LabStatus } from '../../../lab/index.ts';
import type { Invocation } from '../../command.ts';
import type { ExitName } from '../../exit-codes.ts';
import { labDirectory } from './lab-of.ts';

/** `ichor lab shell`: the person's own shell, in the lab's directory, with this `ichor`, TALOSCONFIG and KUBECONFIG. */
export async function shell(invocation: Invocation): Promise<ExitName> {
  const { environment, output } = invocation;
  const directory = labDirectory(invocation, invocation.argument);
  await askLab<LabStatus>(directory, { do: 'status' });
  const program = environment.env.SHELL ?? '/bin/sh';
  const programs = await ownProgram(directory, environment.program);
  output.say(`a shell for the lab in ${directory}; leave it with exit`);
  const child = spawn(program, [], {
    cwd: directory,
    stdio: 'inherit',
    env: {
      ...environment.env,
      PATH: [programs, environment.env.PATH].filter((each) => each !== undefined).join(delimiter),
      TALOSCONFIG: join(directory, 'talosconfig'),
      KUBECONFIG: join(directory, 'kubeconfig'),
    },
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  return 'ok';
}

/** A folder with this very `ichor` in it, which may have been started as `node dist/ichor.js`; it goes with the lab. */
async function ownProgram(directory: string, program: readonly string[]): Promise<string> {
  const folder = join(directory, 'lab', 'bin');
  await makeFolder(folder);
  const words = program.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  await writeFile(join(folder, 'ichor'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o700 });
  return folder;
}

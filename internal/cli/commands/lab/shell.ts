import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { askLab, type LabStatus } from '../../../lab/index.ts';
import type { Invocation } from '../../command.ts';
import type { ExitName } from '../../exit-codes.ts';
import { labDirectory } from './lab-of.ts';

/** `ichor lab shell`: the person's own shell, in the lab's directory, with TALOSCONFIG and KUBECONFIG. */
export async function shell(invocation: Invocation): Promise<ExitName> {
  const { environment, output } = invocation;
  const directory = labDirectory(invocation, invocation.argument);
  await askLab<LabStatus>(directory, { do: 'status' });
  const program = environment.env.SHELL ?? '/bin/sh';
  output.say(`a shell for the lab in ${directory}; leave it with exit`);
  const child = spawn(program, [], {
    cwd: directory,
    stdio: 'inherit',
    env: {
      ...environment.env,
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

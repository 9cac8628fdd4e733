import { resolve } from 'node:path';
import { checkLabOptions, type LabOptions, type LabStatus, launchLab, runLab } from '../../../lab/index.ts';
import { CliError } from '../../cli-error.ts';
import { flag, type Invocation, text } from '../../command.ts';
import type { ExitName } from '../../exit-codes.ts';
import { labDirectory } from './lab-of.ts';
import { everyTargetOption, statusText } from './lab-text.ts';
import { rehearsalOf } from './rehearsal.ts';

/** `ichor lab up` */
export async function labUp(invocation: Invocation): Promise<ExitName> {
  const { environment, output } = invocation;
  const directory = labDirectory(invocation, invocation.argument);
  const options = await optionsOf(invocation, directory);
  checkLabOptions(options);
  if (flag(invocation.options, 'foreground')) return serveHere(invocation, options);
  const { status, cleaned } = await launchLab({
    program: environment.program,
    args: ['lab', 'up', directory, '--foreground', ...forwarded(invocation)],
    directory,
  });
  if (cleaned) output.say('note: an earlier lab here had ended without cleaning up; what it left was removed');
  await output.result(status, upText(status));
  return 'ok';
}

/** Serves until Ctrl-C, or until somebody else ends it. */
async function serveHere({ environment, output }: Invocation, options: LabOptions): Promise<ExitName> {
  let isReady = false;
  // Whoever started us is gone before we were ready: nobody would know of this lab.
  const orphaned = new AbortController();
  process.once('disconnect', () => !isReady && orphaned.abort());
  // Listening to it would keep this process alive after a failed start.
  process.channel?.unref();
  let printed: Promise<void> | undefined;
  await runLab({
    ...options,
    signal: AbortSignal.any([environment.interrupted, orphaned.signal]),
    onReady(status, cleaned) {
      isReady = true;
      // Whoever started us in the background is told and goes; a person reads it here.
      if (process.send === undefined) printed = output.result(status, `${upText(status)}\n\nCtrl-C ends it.`);
      else process.send({ status, cleaned });
    },
  });
  await printed;
  return 'ok';
}

/** The options of `lab up` that its process in the background is given again. */
function forwarded({ options, environment }: Invocation): string[] {
  const { workingDirectory } = environment;
  const values = [
    ['controlPlanes', '--control-planes'],
    ['workers', '--workers'],
    ['talos', '--talos'],
    ['bootSeconds', '--boot-seconds'],
  ].flatMap(([name = '', option = '']) => {
    const value = text(options, name);
    return value === undefined ? [] : [option, value];
  });
  const paths = ['from', 'identity'].flatMap((name) => {
    const value = text(options, name);
    return value === undefined ? [] : [`--${name}`, resolve(workingDirectory, value)];
  });
  return [...values, ...paths, ...(flag(options, 'replaceKeys') ? ['--replace-keys'] : [])];
}

async function optionsOf(invocation: Invocation, directory: string): Promise<LabOptions> {
  const { options } = invocation;
  const planes = numberOf(invocation, 'controlPlanes', '--control-planes');
  const workers = numberOf(invocation, 'workers', '--workers');
  const rehearsal = await rehearsalOf(invocation);
  return {
    directory,
    controlPlanes: planes ?? rehearsal?.controlPlanes ?? 3,
    workers: workers ?? rehearsal?.workers ?? 1,
    talosVersion: versionOf(text(options, 'talos') ?? '1.14'),
    bootSeconds: numberOf(invocation, 'bootSeconds', '--boot-seconds') ?? 5,
    ...(rehearsal === undefined ? {} : { blueprint: rehearsal.blueprint }),
  };
}

function numberOf({ options }: Invocation, name: string, option: string): number | undefined {
  const value = text(options, name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  throw new CliError('usage', `${option}: "${value}" is no number`);
}

/** `1.12`, `v1.12` or `1.12.3` as a whole version. */
function versionOf(given: string): string {
  const match = /^v?1\.(\d+)(?:\.(\d+))?$/.exec(given);
  const minor = Number(match?.[1]);
  if (match === null || minor < 9 || minor > 14) {
    throw new CliError('usage', `--talos: a lab has Talos 1.9 to 1.14; "${given}" was asked for`);
  }
  return `1.${minor}.${match[2] ?? (minor === 14 ? '1' : '0')}`;
}

function upText(status: LabStatus): string {
  const { directory, machines } = status;
  return [
    statusText(status),
    '',
    `  ichor cluster rotate-ca ${everyTargetOption(machines)} --follow --dir ${directory}`,
    `  ichor lab shell ${directory}        (talosctl, kubectl)`,
    `  ichor lab break --list; ichor lab down ${directory}`,
  ].join('\n');
}

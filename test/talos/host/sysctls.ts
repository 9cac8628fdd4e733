import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Talos and the kubelet set these for the whole machine, because they are part of no namespace. */
const NAMES = [
  'fs.aio-max-nr',
  'fs.inotify.max_user_instances',
  'kernel.panic',
  'kernel.panic_on_oops',
  'vm.overcommit_memory',
];

/** Notes what they are before the first cluster; nothing to do while a note is there. */
export function saveSysctls(directory: string): void {
  const file = join(directory, 'sysctls.json');
  if (existsSync(file)) return;
  const values = NAMES.map((name) => [name, readFileSync(pathOf(name), 'utf8').trim()]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(values)));
}

/** Puts them back after the last cluster. */
export function restoreSysctls(directory: string): void {
  const file = join(directory, 'sysctls.json');
  if (!existsSync(file)) return;
  const values = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  for (const [name, value] of Object.entries(values)) writeFileSync(pathOf(name), value);
  rmSync(file);
}

function pathOf(name: string): string {
  return `/proc/sys/${name.replaceAll('.', '/')}`;
}

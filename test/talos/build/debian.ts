import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Artefact, cacheDirectory, ensureArtefact } from '../../support/artefact.ts';
import { output, run, tail } from '../../support/run.ts';
import { hash } from '../../tools/pins.ts';

/** What no Go module has: the container runtime with its libraries, and the shell of test images. */
const PACKAGES = ['runc', 'libseccomp2', 'libc6', 'busybox-static'];

/** Fetches and unpacks the Debian packages; nothing is installed. Answers where they are. */
export function ensureDebian(): Promise<string> {
  return ensureArtefact(cacheDirectory(), debianArtefact());
}

/** Versions are those of the machine's release: its name is part of the key. */
export function debianArtefact(): Artefact {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return { name: 'talos/debian', key: hash(release, process.arch, ...PACKAGES), make: unpack };
}

async function unpack(out: string): Promise<void> {
  const downloads = join(out, 'packages');
  await mkdir(downloads, { recursive: true });
  await refreshLists();
  // Root downloads as itself: apt's sandbox user cannot write here.
  const args = ['-qq', '-o', 'APT::Sandbox::User=root', 'download', ...PACKAGES];
  const first = await run('apt-get', args, { cwd: downloads });
  if (first.code !== 0) {
    // Lists older than the archive name files that are gone.
    await output('apt-get', ['-qq', 'update']);
    const second = await run('apt-get', args, { cwd: downloads });
    if (second.code !== 0) throw new Error(`apt-get download ${PACKAGES.join(' ')}: ${tail(second.stderr)}`);
  }
  for (const file of await readdir(downloads)) await output('dpkg-deb', ['--extract', join(downloads, file), out]);
}

async function refreshLists(): Promise<void> {
  const lists = '/var/lib/apt/lists';
  if (!existsSync(lists)) throw new Error('fetching runc and busybox needs apt-get, so Debian or Ubuntu');
  if (readdirSync(lists).every((name) => !name.includes('Packages'))) await output('apt-get', ['-qq', 'update']);
}

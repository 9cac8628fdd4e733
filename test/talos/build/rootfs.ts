import { copyFile, cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheDirectory, ensureArtefact } from '../../support/artefact.ts';
import { output } from '../../support/run.ts';
import { hash, hashTree } from '../../tools/pins.ts';
import { GO_ENV } from '../../tools/talos-source.ts';
import { ensureTalosSource, toolPath } from '../../tools/tools.ts';
import { findFile } from './files.ts';

const CONFIG = join(import.meta.dirname, '..', 'config');

/** Raised when the layout below changes, since it is not part of any other key. */
const LAYOUT = '1';

/** Programs by where they are in the root file system. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'usr/bin/init': 'machined',
  'usr/bin/containerd': 'containerd',
  'usr/bin/containerd-shim-runc-v2': 'containerd-shim-runc-v2',
  'usr/bin/runc': 'rig-runc',
  'opt/cni/bin/bridge': 'bridge',
  'opt/cni/bin/loopback': 'loopback',
  'opt/cni/bin/host-local': 'host-local',
};

const DIRECTORIES = [
  ...['bin', 'lib', 'lib64', 'etc', 'libexec/kubernetes', 'lib/firmware', 'lib/modules', 'lib/udev/rules.d'],
  ...['local/share', 'local/lib/kubelet/credentialproviders', 'local/lib/containers', 'share/zoneinfo/Etc'],
  'share/spdx',
]
  .map((path) => `usr/${path}`)
  .concat(['boot/EFI', 'mnt', 'system', '.extra', 'proc', 'sys', 'dev', 'run', 'tmp', 'var', 'root', 'home', 'srv'])
  .concat(['cri/conf.d/hosts', 'containerd', 'kubernetes/manifests', 'cni/net.d', 'ssl/certs'].map((p) => `etc/${p}`))
  .concat(['etc/selinux/targeted/contexts/files', 'opt/cni/bin', 'opt/cni/net.d', 'opt/containerd/bin'])
  .concat(['opt/containerd/lib']);

/** Files that Talos bind mounts over must exist. */
const EMPTY_FILES = ['extensions.yaml', 'resolv.conf', 'hosts', 'hostname', 'machine-id'].concat(
  'selinux/targeted/contexts/files/file_contexts',
);

const LINKS: readonly (readonly [path: string, target: string])[] = [
  ['bin', 'usr/bin'],
  ['sbin', 'usr/bin'],
  ['usr/sbin', 'bin'],
  ['lib', 'usr/lib'],
  ['lib64', 'usr/lib64'],
  ['etc/localtime', '/usr/share/zoneinfo/Etc/UTC'],
  ['etc/ssl/certs/ca-certificates', 'ca-certificates.crt'],
  ['etc/pki', '/etc/ssl'],
  ['usr/lib/libc.so.6', '../lib64/libc.so.6'],
  ['usr/lib/libseccomp.so.2', '../lib64/libseccomp.so.2'],
  // machined acts by the name that it is called by.
  ...['poweroff', 'shutdown', 'reboot', 'dashboard', 'sandboxd'].map((name) => [`usr/bin/${name}`, 'init'] as const),
];

/**
 * The root file system of a machine: what Talos's own container image holds,
 * less what container mode never calls. All machines share it as the lower
 * directory of an overlay; configuration that belongs to Talos comes from its module.
 */
export async function ensureRootfs(debian: string): Promise<string> {
  // Before the root file system, because one artefact is made at a time.
  const source = await ensureTalosSource();
  const programs = Object.values(PROGRAMS).map(toolPath);
  const key = hash(LAYOUT, debian, hashTree(CONFIG), ...programs);
  return ensureArtefact(cacheDirectory(), { name: 'talos/rootfs', key, make: (out) => assemble(out, debian, source) });
}

async function assemble(root: string, debian: string, source: string): Promise<void> {
  for (const directory of DIRECTORIES) await mkdir(join(root, directory), { recursive: true });
  for (const [path, target] of LINKS) await symlink(target, join(root, path));
  for (const path of EMPTY_FILES) await writeFile(join(root, 'etc', path), '');
  // Talos knows by this file that it was built for a container.
  await writeFile(join(root, 'usr/etc/in-container'), 'true\n');
  for (const [path, name] of Object.entries(PROGRAMS)) await copyFile(toolPath(name), join(root, path));
  await copyTalosFiles(root, source);
  // Pods get a bridge inside their machine. Talos keeps /etc/cni on a tmpfs,
  // empty at boot, so the runtime is pointed at a directory of ours.
  await copyFile(join(CONFIG, 'cni.conflist'), join(root, 'opt/cni/net.d/10-rig.conflist'));
  await copyFile(join(CONFIG, 'cni.part'), join(root, 'etc/cri/conf.d/15-rig.part'));
  await copyRunc(root, debian);
}

async function copyTalosFiles(root: string, source: string): Promise<void> {
  const list = ['list', '-m', '-f', '{{.Dir}}', 'github.com/siderolabs/talos/pkg/machinery'];
  await output('go', ['mod', 'download', 'github.com/siderolabs/talos/pkg/machinery'], { cwd: source, env: GO_ENV });
  const machinery = (await output('go', list, { cwd: source, env: GO_ENV })).trim();
  const hack = join(source, 'talos/hack');
  await cp(join(hack, 'zoneinfo/Etc/UTC'), join(root, 'usr/share/zoneinfo/Etc/UTC'));
  await cp(join(hack, 'nfsmount.conf'), join(root, 'etc/nfsmount.conf'));
  await cp(join(hack, 'containerd.toml'), join(root, 'etc/containerd/config.toml'));
  await cp(join(hack, 'cri-containerd.toml'), join(root, 'etc/cri/containerd.toml'));
  await cp(join(hack, 'cri-plugin.part'), join(root, 'etc/cri/conf.d/00-base.part'));
  await cp(join(machinery, 'version/os-release'), join(root, 'etc/os-release'));
}

/** Debian's runc behind our wrapper, with the libraries that it is linked to. */
async function copyRunc(root: string, debian: string): Promise<void> {
  await copyFile(join(debian, 'usr/sbin/runc'), join(root, 'usr/bin/runc.real'));
  for (const library of [/^libseccomp\.so\.2$/, /^libc\.so\.6$/, /^ld-linux-.*\.so\.\d$/]) {
    const path = await findFile(debian, library);
    await copyFile(path, join(root, 'usr/lib64', basename(path)));
  }
  // The interpreter's path is fixed in the program; that of the libraries is the loader's default.
  if ((await readdir(join(root, 'usr/lib64'))).length !== 3) throw new Error('runc needs exactly three libraries');
}

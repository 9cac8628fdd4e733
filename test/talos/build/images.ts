import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDirectory, ensureArtefact } from '../../support/artefact.ts';
import { output } from '../../support/run.ts';
import { hash, hashTree } from '../../tools/pins.ts';
import { toolPath } from '../../tools/tools.ts';
import { placeProgram } from './files.ts';

const CONFIG = join(import.meta.dirname, '..', 'config');

/** Raised when the trees below change, since they are not part of any other key. */
const LAYOUT = '1';

/** One container image: the programs in it by their paths, and whether it has a shell and a file system around them. */
interface Image {
  readonly repository: string;
  readonly entrypoint: string;
  readonly files: Readonly<Record<string, string>>;
  readonly busybox?: boolean;
}

/** What the kubelet's mounts and the shells of tests need. */
const BUSYBOX_LINKS =
  'sh mount umount mkdir ls cat cp rm nsenter sleep find echo id nc wget httpd env true false'.split(' ');

/** The images of Kubernetes and etcd, and `busybox` for workloads. Answers the registry's directory. */
export function ensureSystemImages(debian: string): Promise<string> {
  const busybox = ['bin/busybox', 'usr/bin/busybox'].map((path) => join(debian, path)).find(existsSync);
  if (busybox === undefined) throw new Error(`no busybox in ${debian}`);
  return ensureImages('talos/images', systemImages(busybox), busybox);
}

function systemImages(busybox: string): Image[] {
  const kubernetes = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map((name) => ({
    repository: name,
    entrypoint: `/usr/local/bin/${name}`,
    files: { [`usr/local/bin/${name}`]: toolPath(name) },
  }));
  return [
    ...kubernetes,
    { repository: 'pause', entrypoint: '/pause', files: { pause: toolPath('rig-pause') } },
    {
      repository: 'etcd',
      entrypoint: '/usr/local/bin/etcd',
      files: { 'usr/local/bin/etcd': toolPath('etcd'), 'usr/local/bin/etcdctl': toolPath('etcdctl') },
    },
    {
      repository: 'siderolabs/kubelet',
      entrypoint: '/usr/local/bin/kubelet',
      files: {
        'usr/local/bin/kubelet': join(CONFIG, 'kubelet.sh'),
        'usr/local/bin/kubelet.real': toolPath('kubelet'),
        'bin/busybox': busybox,
      },
      busybox: true,
    },
    { repository: 'library/busybox', entrypoint: '/bin/sh', files: { 'bin/busybox': busybox }, busybox: true },
  ];
}

function ensureImages(name: string, images: readonly Image[], ...parts: string[]): Promise<string> {
  const key = hash(LAYOUT, hashTree(CONFIG), JSON.stringify(images), toolPath('rig-registry'), ...parts);
  return ensureArtefact(cacheDirectory(), {
    name,
    key,
    make: async (out) => {
      await mkdir(out);
      for (const image of images) await buildImage(out, image);
    },
  });
}

/** The images of test workloads: one program each, under `ichor/NAME`. Answers the registry's directory. */
export function ensureWorkloadImages(names: readonly string[]): Promise<string> {
  const images = names.map((name) => ({
    repository: `ichor/${name}`,
    entrypoint: `/${name}`,
    files: { [name]: toolPath(`workload-${name}`) },
  }));
  return ensureImages('talos/workloads', images);
}

async function buildImage(store: string, image: Image): Promise<void> {
  const tree = `${store}-tree`;
  try {
    for (const [path, source] of Object.entries(image.files)) await placeProgram(source, join(tree, path));
    if (image.busybox) await addBusyboxFiles(tree);
    await output(toolPath('rig-registry'), ['build', store, image.repository, image.entrypoint, tree]);
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

async function addBusyboxFiles(tree: string): Promise<void> {
  for (const path of ['sbin', 'usr/bin', 'usr/sbin', 'tmp', 'etc', 'var/lib', 'var/log', 'run']) {
    await mkdir(join(tree, path), { recursive: true });
  }
  await symlink('/run', join(tree, 'var/run'));
  await writeFile(join(tree, 'etc/passwd'), 'root:x:0:0:root:/root:/sbin/nologin\n');
  await writeFile(join(tree, 'etc/group'), 'root:x:0:\n');
  await writeFile(join(tree, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  for (const name of BUSYBOX_LINKS) await symlink('/bin/busybox', join(tree, 'bin', name));
  await symlink('/bin/mount', join(tree, 'usr/bin/mount'));
  await symlink('/bin/umount', join(tree, 'usr/bin/umount'));
}

/** A Go program that tests use, and how it is built. */
export interface Part {
  /** The program's name. */
  readonly name: string;
  /** The folder, relative to the repository, whose go.mod pins it. */
  readonly module: string;
  /** The Go package to build, as seen from that folder. */
  readonly package: string;
  /** Linker flags on top of `-s -w`; `{version}` is the pinned version of `versionOf`. */
  readonly ldflags?: string;
  /** The module whose pinned version goes into `ldflags`. */
  readonly versionOf?: string;
  /** Build tags. */
  readonly tags?: string;
  /** Built from the edited copy of the Talos source (`talos-source.ts`). */
  readonly fromTalosSource?: boolean;
  /** Runs on Linux only, as a part of the cluster in `test/talos`. */
  readonly linuxOnly?: boolean;
}

const TALOS = 'github.com/siderolabs/talos';
const CONTAINERD = 'github.com/containerd/containerd/v2';

function talos(name: string, path: string, options: { ldflags?: string; tags: string; linuxOnly?: boolean }): Part {
  return { name, module: 'test/tools/talos', package: `${TALOS}/${path}`, fromTalosSource: true, ...options };
}

function kubernetes(name: string, options: { linuxOnly?: boolean } = {}): Part {
  // Without these it calls itself v0.0.0, and clients refuse to talk to it.
  const version = 'k8s.io/component-base/version';
  return {
    name,
    module: 'test/tools/kubernetes',
    package: `k8s.io/kubernetes/cmd/${name}`,
    ldflags: `-X ${version}.gitVersion={version} -X ${version}.gitMajor=1 -X ${version}.gitMinor={minor} -X ${version}.gitTreeState=clean`,
    versionOf: 'k8s.io/kubernetes',
    ...options,
  };
}

function etcd(name: string, path: string): Part {
  return { name, module: 'test/tools/etcd', package: `go.etcd.io/etcd/${path}/v3` };
}

function helper(name: string): Part {
  return { name: `rig-${name}`, module: 'test/talos/helpers', package: `./${name}`, linuxOnly: true };
}

function workload(name: string): Part {
  return { name: `workload-${name}`, module: 'test/talos/workloads', package: `./${name}`, linuxOnly: true };
}

function cni(name: string, path: string): Part {
  return {
    name,
    module: 'test/tools/cni',
    package: `github.com/containernetworking/plugins/plugins/${path}`,
    linuxOnly: true,
  };
}

/** Every program, in the order in which they are built: what most suites need comes first. */
export const PARTS: readonly Part[] = [
  talos('talosctl', 'cmd/talosctl', { tags: 'grpcnotrace' }),
  etcd('etcd', 'server'),
  etcd('etcdctl', 'etcdctl'),
  etcd('etcdutl', 'etcdutl'),
  { name: 'configjudge', module: 'test/tools/configjudge', package: '.' },
  kubernetes('kube-apiserver'),
  kubernetes('kube-controller-manager'),
  kubernetes('kubectl'),
  kubernetes('kube-scheduler'),
  kubernetes('kubelet', { linuxOnly: true }),
  talos('machined', 'internal/app/machined', {
    // Talos sets the socket directory at link time too: its root is read-only.
    ldflags: '-X golang.zx2c4.com/wireguard/ipc.socketDirectory=/system/wireguard-sock',
    tags: 'tcell_minimal,grpcnotrace',
    linuxOnly: true,
  }),
  {
    name: 'discovery-service',
    module: 'test/tools/discovery',
    package: 'github.com/siderolabs/discovery-service/cmd/discovery-service',
    linuxOnly: true,
  },
  {
    name: 'containerd',
    module: 'test/tools/containerd',
    package: `${CONTAINERD}/cmd/containerd`,
    ldflags: `-X ${CONTAINERD}/version.Version={number}`,
    versionOf: CONTAINERD,
    tags: 'no_btrfs,no_devmapper,no_zfs',
    linuxOnly: true,
  },
  {
    name: 'containerd-shim-runc-v2',
    module: 'test/tools/containerd',
    package: `${CONTAINERD}/cmd/containerd-shim-runc-v2`,
    linuxOnly: true,
  },
  cni('bridge', 'main/bridge'),
  cni('loopback', 'main/loopback'),
  cni('host-local', 'ipam/host-local'),
  helper('registry'),
  helper('lb'),
  helper('pivot'),
  helper('runc'),
  helper('pause'),
  workload('web'),
  workload('client'),
  workload('aggregated'),
];

/** The part of that name; a name that nobody knows is a mistake in the test. */
export function partNamed(name: string): Part {
  const part = PARTS.find((candidate) => candidate.name === name);
  if (part === undefined)
    throw new Error(`no part is called ${name}; there are: ${PARTS.map((p) => p.name).join(', ')}`);
  return part;
}

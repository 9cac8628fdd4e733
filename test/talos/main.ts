import { readFileSync } from 'node:fs';
import { sayOnStderr } from '../support/clock-lines.ts';
import { readOptions } from '../support/options.ts';
import { openCluster, type TalosCluster, talosCluster } from './cluster.ts';
import { cgroupVersion } from './host/cgroups.ts';
import { prepareParts } from './parts.ts';
import { type Contract, recordedClusters } from './record.ts';
import { statusOf } from './status.ts';
import { findClusters, lockCluster, removeCluster, removeLeftovers } from './teardown.ts';
import { toolDirectory } from './tool-directory.ts';

const USAGE = `usage: npm run talos -- COMMAND [--name NAME] [OPTIONS]

  build                     build all that a cluster needs (also done by up)
  up CP W                   make a cluster of CP (1-5) control planes and W (0-3) workers
      --contract vX.Y           shape of the machine configuration; up to v1.13 one document
      --endpoint IP:PORT        the Kubernetes endpoint, in the cluster's network
      --patch FILE              patch every machine's configuration; may be repeated
      --patch-control-plane FILE, --patch-worker FILE
  status                    machines, boot IDs, memory, where the consoles are
  env                       shell exports for talosctl, kubectl, etcdctl: eval "$(npm run -s talos -- env)"
  health                    wait until the cluster is healthy
  shut-down, start          every machine: off through the Talos API, on with what was kept
  power-off M, power-on M   power of one machine (cp1, w1, ...)
  hold-boot M, release-boot M
  cut-network M, mend-network M
  freeze M PROGRAM, thaw M [PROGRAM]
  fill-state M, free-state M
  replace M                 empty volumes, first boot
  mend                      undo every fault, wait until healthy
  down                      remove the cluster
  list                      names of the clusters
  clean                     down for every cluster, even those of programs that still run

The name is "main" unless given. Programs and files are kept in $ICHOR_CACHE, by default ichor in the user's cache directory.
`;

const { values, positionals } = readOptions(USAGE, {
  allowPositionals: true,
  options: {
    name: { type: 'string', default: 'main' },
    contract: { type: 'string' },
    endpoint: { type: 'string' },
    patch: { type: 'string', multiple: true, default: [] },
    'patch-control-plane': { type: 'string', multiple: true, default: [] },
    'patch-worker': { type: 'string', multiple: true, default: [] },
  },
});
const [command = '', first = '', second = ''] = positionals;

/** What is done to one machine: the command's name and the call. */
const MACHINE_COMMANDS: Readonly<Record<string, (cluster: TalosCluster) => unknown>> = {
  'power-off': (cluster) => cluster.machine(first).powerOff(),
  'power-on': (cluster) => cluster.machine(first).powerOn(),
  'hold-boot': (cluster) => cluster.machine(first).holdBoot(),
  'release-boot': (cluster) => cluster.machine(first).releaseBoot(),
  'cut-network': (cluster) => cluster.machine(first).cutNetwork(),
  'mend-network': (cluster) => cluster.machine(first).mendNetwork(),
  freeze: (cluster) => cluster.machine(first).freeze(second),
  thaw: (cluster) => cluster.machine(first).thaw(second || undefined),
  'fill-state': (cluster) => cluster.machine(first).fillState(),
  'free-state': (cluster) => cluster.machine(first).freeState(),
  replace: (cluster) => cluster.machine(first).replace(),
  health: (cluster) => cluster.healthy(),
  'shut-down': (cluster) => cluster.shutDown(),
  start: (cluster) => cluster.start(),
  mend: (cluster) => cluster.mend(),
};

const COMMANDS: Readonly<Record<string, () => unknown>> = {
  build: () => prepareParts(),
  up,
  status: () => print(statusOf(openCluster(values.name))),
  env: async () => print(await environment(openCluster(values.name))),
  down: () => down(values.name),
  list: () => print(recordedClusters().join('\n')),
  clean: async () => {
    for (const name of findClusters(cgroupVersion())) await down(name);
  },
};

async function up(): Promise<void> {
  const texts = (files: readonly string[]) => files.map((file) => readFileSync(file, 'utf8'));
  const { endpoint, contract, name } = values;
  const cluster = await talosCluster({
    name,
    owner: 'nobody',
    controlPlanes: Number(first || 1),
    workers: Number(second || 0),
    patches: {
      all: texts(values.patch),
      controlPlane: texts(values['patch-control-plane']),
      worker: texts(values['patch-worker']),
    },
    ...(contract !== undefined && { contract: readContract(contract) }),
    ...(endpoint !== undefined && { endpoint: () => endpoint }),
  });
  print(statusOf(cluster));
}

function readContract(text: string): Contract {
  if (/^v1\.\d+$/.test(text)) return text as Contract;
  throw new Error(`a contract is like v1.13, not ${text}`);
}

async function down(name: string): Promise<void> {
  const cgroups = cgroupVersion();
  for (const leftover of await removeLeftovers(cgroups)) sayOnStderr(`talos: removed what was left of ${leftover}`);
  using _lock = lockCluster(name, `taking down the cluster ${name}`);
  await removeCluster(name, cgroups);
  sayOnStderr(`talos: cluster ${name} is gone`);
}

async function environment(cluster: TalosCluster): Promise<string> {
  return [
    `export TALOSCONFIG=${cluster.talosconfigFile}`,
    `export KUBECONFIG=${cluster.kubeconfigFile}`,
    `export ICHOR_TALOS_CLUSTER=${cluster.directory}`,
    `export PATH=${await toolDirectory(cluster.directory)}:$PATH`,
  ].join('\n');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

const onCluster = MACHINE_COMMANDS[command];
const action = COMMANDS[command] ?? (onCluster && (() => onCluster(openCluster(values.name))));
if (action === undefined) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else {
  try {
    await action();
  } catch (error) {
    sayOnStderr(`error: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

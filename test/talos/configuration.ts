import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run, tail } from '../support/run.ts';
import { pinnedVersion } from '../tools/pins.ts';
import { toolPath } from '../tools/tools.ts';
import { addressOf, gatewayOf, PORTS } from './host/network.ts';
import type { ClusterRecord, Contract } from './record.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Machine configuration patches in YAML, as `talosctl gen config` takes them. */
export interface ConfigPatches {
  readonly all?: readonly string[];
  readonly controlPlane?: readonly string[];
  readonly worker?: readonly string[];
}

/** Whether configurations of that contract are one document, as up to Talos 1.13; patches must have its shape. */
export function isLegacy(contract: Contract): boolean {
  return Number(contract.split('.')[1]) < 14;
}

/** Writes secrets.yaml, controlplane.yaml, worker.yaml and talosconfig into the cluster's directory. */
export async function writeConfiguration(
  record: ClusterRecord,
  patches: ConfigPatches,
  secrets: string | undefined,
): Promise<void> {
  const network = { cluster: record.name, index: record.index };
  const { directory, contract } = record;
  const secretsFile = join(directory, 'secrets.yaml');
  if (secrets === undefined) await talosctl(['gen', 'secrets', '--talos-version', contract, '-o', secretsFile]);
  else await writeFile(secretsFile, secrets, { mode: 0o600 });

  // All images come from our registry, whatever host their names have. The
  // install disk is only there because a configuration must name one.
  await talosctl([
    ...['gen', 'config', record.name, `https://${record.endpoint}`],
    ...['--with-secrets', secretsFile, '--with-docs=false', '--with-examples=false'],
    ...['--talos-version', contract],
    ...['--kubernetes-version', pinnedVersion(ROOT, 'test/tools/kubernetes', 'k8s.io/kubernetes').slice(1)],
    ...['--install-disk', '/dev/null', '--registry-mirror', `*=http://${gatewayOf(network)}:${PORTS.registry}`],
    ...(await patchOptions(record, patches)),
    ...['-o', directory],
  ]);
  const addresses = Array.from({ length: record.controlPlanes }, (_, index) => addressOf(network, index + 1));
  const talosconfig = ['--talosconfig', join(directory, 'talosconfig')];
  await talosctl([...talosconfig, 'config', 'endpoint', ...addresses]);
  await talosctl([...talosconfig, 'config', 'node', addresses[0] ?? '']);
}

async function patchOptions(record: ClusterRecord, patches: ConfigPatches): Promise<string[]> {
  const network = { cluster: record.name, index: record.index };
  const shape = isLegacy(record.contract) ? 'config/legacy' : 'config';
  const ours = async (file: string) =>
    (await readFile(join(import.meta.dirname, shape, file), 'utf8'))
      .replaceAll('GATEWAY', gatewayOf(network))
      .replaceAll('DISCOVERY_PORT', String(PORTS.discovery));
  const options = (flag: string, texts: readonly string[]) => texts.flatMap((text) => [flag, text]);
  return [
    ...options('--config-patch', [await ours('all.yaml'), ...(patches.all ?? [])]),
    ...options('--config-patch-control-plane', [await ours('controlplane.yaml'), ...(patches.controlPlane ?? [])]),
    ...options('--config-patch-worker', patches.worker ?? []),
  ];
}

async function talosctl(args: readonly string[]): Promise<void> {
  const result = await run(toolPath('talosctl'), args, { timeoutMs: 60_000 });
  if (result.code !== 0) throw new Error(`talosctl ${args.slice(0, 2).join(' ')}: ${tail(result.stderr, 3)}`);
}

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newBundle } from '../../../internal/lab/blueprint.ts';
import { clientsOf, proveRotation } from '../../../internal/lab/demo/proofs.ts';
import type { LabStatus } from '../../../internal/lab/index.ts';
import { writeConfiguration } from '../../../internal/simulator/index.ts';
import { openBundle, type SecretsBundle } from '../../../pkg/bundle/index.ts';
import { builtIchor } from '../../support/built-ichor.ts';
import { folderOf, type PrivateFolder } from '../../support/folder.ts';
import { describeReal } from '../../support/real.ts';
import { type RunResult, run } from '../../support/run.ts';
import { toolPath } from '../../tools/tools.ts';

/** What one rotation on a rehearsal of such a cluster is. */
interface Rehearsed {
  readonly shape: 'legacy' | 'typed';
  readonly talos: string;
  /** Of the control planes, in their order. */
  readonly ports: readonly number[];
  readonly ca: readonly string[];
}

describeReal('a cluster whose API servers listen on other ports than 6443', { tools: ['talosctl'] }, () => {
  let folder: PrivateFolder;
  let program: string;
  let directory: string;

  beforeEach(async () => {
    folder = await folderOf({});
    program = await builtIchor();
    directory = join(folder.path, 'lab');
  });
  afterEach(async () => {
    await ichor('lab', 'down', directory);
    await folder[Symbol.asyncDispose]();
  });

  const ichor = (...args: readonly string[]): Promise<RunResult> =>
    run(process.execPath, [program, ...args], { env: { HOME: folder.path }, timeoutMs: 800_000 });

  async function ok(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await ichor(...args);
    expect([args, code, code === 0 ? '' : stderr]).toEqual([args, 0, '']);
    return stdout;
  }

  /** A directory with secrets and configurations, as people keep them. */
  async function writeCluster({ shape, ports }: Rehearsed): Promise<string> {
    const from = join(folder.path, 'real');
    await mkdir(from);
    const document = await newBundle(Date.now());
    await writeFile(join(from, 'secrets.yaml'), await document.write());
    const common = { shape, bundle: document.bundle, endpoint: 'https://10.1.2.3:443' };
    for (const [index, apiServerPort] of ports.entries()) {
      const hostname = `plane-${index + 1}`;
      const text = writeConfiguration({ ...common, role: 'controlplane', hostname, apiServerPort });
      await writeFile(join(from, `${hostname}.yaml`), text);
    }
    const hostname = 'worker-1';
    await writeFile(join(from, 'worker.yaml'), writeConfiguration({ ...common, role: 'worker', hostname }));
    return from;
  }

  async function bundleIn(path: string): Promise<SecretsBundle> {
    return (await openBundle(await readFile(path), { path })).bundle;
  }

  it.each<Rehearsed>([
    {
      shape: 'typed',
      talos: '1.14',
      ports: [7443, 8443, 6443],
      ca: ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'],
    },
    { shape: 'legacy', talos: '1.13', ports: [7443], ca: ['talos', 'kubernetes', 'etcd'] },
  ])('is rehearsed and rotated where they listen ($shape, $ports)', { timeout: 900_000 }, async (rehearsed) => {
    const { ports, talos, ca } = rehearsed;
    const from = await writeCluster(rehearsed);
    const up = ['lab', 'up', directory, '--from', from, '--talos', talos, '--boot-seconds', '1', '-o', 'json'];
    const { machines } = JSON.parse(await ok(...up)) as LabStatus;

    expect(machines.map(({ name, apiServerPort }) => [name, apiServerPort])).toEqual([
      ...ports.map((port, index) => [`plane-${index + 1}`, port]),
      ['worker-1', undefined],
    ]);
    expect(await ok('lab', 'status', directory)).toMatch(/plane-1 .* ready on 7443\n/);
    await expectShown(machines, ports);

    const old = await clientsOf(await bundleIn(join(directory, 'secrets.yaml')), Date.now());
    const isAll = ca.length === 4;
    const rotate = ['cluster', 'rotate-ca', ...(isAll ? ['--all'] : ['--ca', ca.join(',')])];
    await ok(...rotate, '--yes', '--follow', '--settle', '1s', '--dir', directory);

    const bundle = await bundleIn(join(directory, 'secrets.yaml'));
    const proofs = await proveRotation({ machines, bundle, old, new: await clientsOf(bundle, Date.now()) });
    const replaced = proofs.filter(({ what }) => isAll || !what.includes('front proxy'));
    expect(replaced.filter(({ holds }) => !holds)).toEqual([]);
    // Four of each control plane, the Talos API of the worker; the aggregator CA is not everywhere among them.
    expect(replaced).toHaveLength(ports.length * ca.length + 1);
  });

  /** What `talosctl` shows of the ports of these machines. */
  async function expectShown(machines: LabStatus['machines'], ports: readonly number[]): Promise<void> {
    const talosconfig = join(directory, 'talosconfig');
    const shown = async (node: string | undefined, kind: string): Promise<string> =>
      (
        await run(toolPath('talosctl'), ['--talosconfig', talosconfig, '-n', node ?? '', 'get', kind, '-o', 'yaml'], {
          timeoutMs: 60_000,
        })
      ).stdout;
    for (const [index, port] of ports.entries()) {
      const node = machines[index]?.address;
      expect(await shown(node, 'apiserverconfigs')).toContain(`localPort: ${port}\n`);
      expect(await shown(node, 'kubernetessecrets')).toContain(`server: https://localhost:${port}\n`);
    }
    const members = await shown(machines.at(-1)?.address, 'members');
    expect(members.match(/port: \d+/g)).toEqual(ports.map((port) => `port: ${port}`));
  }
});

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MachineConfigError, readApiServerPort } from '../../../pkg/machineconfig/index.ts';
import { generateCluster } from '../../builders/talos-configs.ts';
import { folderOf } from '../../support/folder.ts';
import { describeReal } from '../../support/real.ts';
import { output } from '../../support/run.ts';
import { toolPath } from '../../tools/tools.ts';

describeReal('Talos judges where kube-apiserver listens', { tools: ['talosctl', 'configjudge'] }, () => {
  let directory: string;
  const generated = new Map<string, string>();

  beforeAll(async () => {
    directory = (await folderOf({})).path;
    for (const contract of ['v1.13', 'v1.14']) {
      generated.set(contract, (await generateCluster(contract, directory)).controlplane);
    }
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const legacy = (value: string): string =>
    inserted('v1.13', /^ {8}endpoint: .*\n/m, `        localAPIServerPort: ${value}\n`);
  const typed = (value: string): string => inserted('v1.14', /^kind: KubeAPIServerConfig\n/m, `apiPort: ${value}\n`);

  /** What `talosctl gen config` made, with a line behind another one. */
  function inserted(contract: string, behind: RegExp, line: string): string {
    const text = generated.get(contract) ?? '';
    const config = text.replace(behind, (found) => found + line);
    expect(config).not.toBe(text);
    return config;
  }

  /** What Talos itself takes for the port, and what we do; undefined where it is no port to us. */
  async function ports(config: string): Promise<[talos: number, ours: number | undefined]> {
    const file = join(directory, 'config.yaml');
    writeFileSync(file, config, { mode: 0o600 });
    const [judgement] = JSON.parse(await output(toolPath('configjudge'), [file])) as { apiServerPort: number }[];
    return [judgement?.apiServerPort ?? 0, oursOf(config)];
  }

  function oursOf(config: string): number | undefined {
    try {
      return readApiServerPort(config);
    } catch (error) {
      if (error instanceof MachineConfigError && error.kind === 'bad-value') return undefined;
      throw error;
    }
  }

  it('as we read it, in both shapes', async () => {
    expect(await ports(generated.get('v1.13') ?? '')).toEqual([6443, 6443]);
    expect(await ports(generated.get('v1.14') ?? '')).toEqual([6443, 6443]);
    expect(await ports(legacy('7443'))).toEqual([7443, 7443]);
    expect(await ports(typed('7443'))).toEqual([7443, 7443]);
    expect(await ports(legacy('0'))).toEqual([6443, 6443]);
    expect(await ports(legacy(''))).toEqual([6443, 6443]);
    expect(await ports(typed(''))).toEqual([6443, 6443]);
  });

  it('at any number, where we see no port', async () => {
    expect(await ports(typed('0'))).toEqual([0, undefined]);
    expect(await ports(typed('70000'))).toEqual([70_000, undefined]);
    expect(await ports(legacy('-1'))).toEqual([-1, undefined]);
    // Octal to Go: whoever reads the digits goes to another port.
    expect(await ports(legacy('016443'))).toEqual([7459, undefined]);
    expect(await ports(legacy('7_443'))).toEqual([7443, undefined]);
  });
});

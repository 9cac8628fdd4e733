import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  mergeTalosconfig,
  readTalosconfigFile,
  type TalosContext,
  writeTalosconfigFile,
} from '../../pkg/talos/index.ts';
import { aClient, aTalosCa } from '../builders/talos-server.ts';
import { describeReal } from '../support/real.ts';
import { output } from '../support/run.ts';
import { toolPath } from '../tools/tools.ts';

describeReal('talosctl and our talosconfig', { tools: ['talosctl'] }, () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ichor-talosconfig-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const talosctl = (file: string, ...args: string[]) =>
    output(toolPath('talosctl'), ['--talosconfig', join(folder, file), ...args]);
  const aContext = async (): Promise<TalosContext> => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    return {
      endpoints: ['10.0.0.1', '10.0.0.2:50000'],
      nodes: ['10.0.0.3'],
      trust: [old.certificate, incoming.certificate],
      credentials: await aClient(old),
      rest: {},
    };
  };

  it('it reads what we write, two CAs and the key with its own label included', async () => {
    await writeTalosconfigFile(join(folder, 'ours'), { context: 'prod', contexts: { prod: await aContext() } });

    const info = await talosctl('ours', 'config', 'info');

    expect(info).toMatch(/^Current context:\s+prod$/m);
    expect(info).toMatch(/^Nodes:\s+10\.0\.0\.3$/m);
    expect(info).toMatch(/^Endpoints:\s+10\.0\.0\.1, 10\.0\.0\.2:50000$/m);
    expect(info).toMatch(/^Roles:\s+os:admin$/m);
  });

  it('what it writes back reads as the same', async () => {
    const config = { context: 'prod', contexts: { prod: await aContext() } };
    await writeTalosconfigFile(join(folder, 'ours'), config);

    await talosctl('ours', 'config', 'node', '10.0.0.3');

    expect(await readTalosconfigFile(join(folder, 'ours'))).toEqual(config);
  });

  it('it and we merge to the same contexts', async () => {
    const first = { context: 'prod', contexts: { prod: await aContext() } };
    const second = { context: 'prod', contexts: { prod: await aContext(), lab: await aContext() } };
    await writeTalosconfigFile(join(folder, 'theirs'), first);
    await writeTalosconfigFile(join(folder, 'more'), second);

    await talosctl('theirs', 'config', 'merge', join(folder, 'more'));

    expect(await readTalosconfigFile(join(folder, 'theirs'))).toEqual(mergeTalosconfig(first, second));
  });
});

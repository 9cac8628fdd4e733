import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { aClient, aTalosCa } from '../../test/builders/talos-server.ts';
import {
  mergeTalosconfig,
  parseTalosconfig,
  readTalosconfigFile,
  selectContext,
  type TalosContext,
  type Talosconfig,
  writeTalosconfig,
  writeTalosconfigFile,
} from './index.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ichor-talosconfig-'));
  folders.push(folder);
  return folder;
}

async function aContext(overrides: Partial<TalosContext> = {}): Promise<TalosContext> {
  const ca = await aTalosCa();
  return {
    endpoints: ['10.0.0.1'],
    nodes: [],
    trust: [ca.certificate],
    credentials: await aClient(ca),
    rest: {},
    ...overrides,
  };
}

describe('talosconfig', () => {
  it('keeps everything, also what it does not know, with Talos’s key label', async () => {
    const [old, incoming] = [await aTalosCa(), await aTalosCa()];
    const config: Talosconfig = {
      context: 'prod',
      contexts: {
        prod: await aContext({
          nodes: ['10.0.0.2'],
          trust: [old.certificate, incoming.certificate],
          rest: { cluster: 'x' },
        }),
        sso: await aContext({ trust: [], credentials: undefined, rest: { auth: { siderov1: { identity: 'me@x' } } } }),
      },
    };

    const text = writeTalosconfig(config);

    expect(parseTalosconfig(text, 'a file')).toEqual(config);
    const key = Buffer.from(/key: (\S+)/.exec(text)?.[1] ?? '', 'base64').toString();
    expect(key).toMatch(/^-----BEGIN ED25519 PRIVATE KEY-----\n/);
  });

  it('is readable by its owner only, and replaced at once', async () => {
    const folder = aFolder();
    const path = join(folder, 'talosconfig');
    const config = { context: 'prod', contexts: { prod: await aContext() } };

    await writeTalosconfigFile(path, { context: '', contexts: {} });
    await writeTalosconfigFile(path, config);

    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['talosconfig']);
    expect(await readTalosconfigFile(path)).toEqual(config);
  });

  it('merges under another name when the name is taken by something else, and selects what came', async () => {
    const [first, second, third] = [await aContext(), await aContext(), await aContext()];

    const merged = mergeTalosconfig(
      mergeTalosconfig({ context: 'prod', contexts: { prod: first } }, { context: 'prod', contexts: { prod: second } }),
      { context: '', contexts: { prod: third } },
    );

    expect(merged).toEqual({ context: 'prod-1', contexts: { prod: first, 'prod-1': second, 'prod-2': third } });
  });

  it('merges the same context once', async () => {
    const config = { context: 'prod', contexts: { prod: await aContext() } };

    expect(mergeTalosconfig(config, config)).toEqual(config);
  });

  it('says which contexts there are when the one asked for is not', async () => {
    const config = { context: 'prod', contexts: { prod: await aContext(), lab: await aContext() } };

    expect(() => selectContext(config, '~/.talos/config', 'stage')).toThrow(
      'talosconfig ~/.talos/config: has no context "stage"; it has prod, lab',
    );
  });

  it('says what a context lacks', async () => {
    const config = { context: 'sso', contexts: { sso: await aContext({ credentials: undefined }) } };

    expect(() => selectContext(config, 'file')).toThrow(
      'talosconfig file: context "sso" has no client certificate ("crt" and "key")',
    );
  });

  it.each([
    ['', 'talosconfig file: is empty; expected "context" and "contexts"'],
    ['hello', 'talosconfig file: is empty; expected "context" and "contexts"'],
    ['contexts: {a: 1}', 'talosconfig file: context "a" is not a mapping'],
    ['a: [', 'talosconfig file: is not YAML (line 1: BAD_INDENT)'],
  ])('refuses %j in one line', (text, message) => {
    expect(() => parseTalosconfig(text, 'file')).toThrow(message);
  });

  it('never quotes itself in an error', async () => {
    const text = writeTalosconfig({ context: 'p', contexts: { p: await aContext() } });
    const key = /key: (\S+)/.exec(text)?.[1] ?? '';

    for (const broken of [text.replace('key: ', 'key: : '), text.replace(key, key.slice(0, 60))]) {
      const error = (() => {
        try {
          parseTalosconfig(broken, 'file');
          return undefined;
        } catch (reason) {
          return reason as Error;
        }
      })();
      expect(error).toBeDefined();
      expect(`${error?.stack}${String(error?.cause)}`).not.toContain(key.slice(0, 40));
    }
  });

  it('is missing in words', async () => {
    const path = join(aFolder(), 'none');

    await expect(readTalosconfigFile(path)).rejects.toThrow(`talosconfig ${path}: does not exist`);
  });
});

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Part, partNamed } from './parts.ts';
import { ldflagsOf, partKey, pinnedVersion } from './pins.ts';
import { applyEdit, EDITS } from './talos-source.ts';

const ROOT = join(import.meta.dirname, '..', '..');

describe('the pins', () => {
  it.each([
    ['test/tools/talos', 'github.com/siderolabs/talos', 'v1.14.1'],
    ['test/tools/talos-source', 'github.com/siderolabs/talos', 'v1.14.1'],
    ['test/tools/kubernetes', 'k8s.io/kubernetes', 'v1.37.2'],
    ['test/tools/etcd', 'go.etcd.io/etcd/server/v3', 'v3.7.3'],
  ])('%s holds %s at %s', (folder, module, version) => {
    expect(pinnedVersion(ROOT, folder, module)).toBe(version);
  });

  it('Kubernetes learns its version from the pin', () => {
    expect(ldflagsOf(ROOT, partNamed('kubectl'))).toBe(
      '-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37 -X k8s.io/component-base/version.gitTreeState=clean',
    );
  });
});

describe('the key of a part', () => {
  const part: Part = { name: 'tool', module: 'module', package: './tool' };
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'ichor-pins-'));
    mkdirSync(join(root, 'module'));
    writeFileSync(join(root, 'module/go.mod'), 'module x\n\nrequire example.org/y v1.2.3\n');
    writeFileSync(join(root, 'module/go.sum'), '');
  });

  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('stays when nothing changes, wherever the repository is', () => {
    const before = partKey(root, part, 'go1.26.8');
    const elsewhere = mkdtempSync(join(tmpdir(), 'ichor-pins-'));
    cpSync(root, elsewhere, { recursive: true });

    expect(partKey(elsewhere, part, 'go1.26.8')).toBe(before);
    rmSync(elsewhere, { recursive: true });
  });

  it('changes with every single thing that goes into the program', () => {
    const keys = [partKey(root, part, 'go1.26.8'), partKey(root, part, 'go1.26.9')];
    keys.push(partKey(root, { ...part, package: './other' }, 'go1.26.8'));
    keys.push(partKey(root, { ...part, tags: 'grpcnotrace' }, 'go1.26.8'));
    keys.push(partKey(root, { ...part, ldflags: '-X a.b={version}', versionOf: 'example.org/y' }, 'go1.26.8'));
    writeFileSync(join(root, 'module/go.sum'), 'another sum\n');
    keys.push(partKey(root, part, 'go1.26.8'));
    writeFileSync(join(root, 'module/main.go'), 'package main\n');
    keys.push(partKey(root, part, 'go1.26.8'));

    expect(new Set(keys).size).toBe(7);
  });
});

describe('an edit of the Talos source', () => {
  let source: string;

  beforeEach(() => {
    source = mkdtempSync(join(tmpdir(), 'ichor-edit-'));
  });

  afterEach(() => rmSync(source, { recursive: true, force: true }));

  const edit = { file: 'mode.go', old: 'Reboot|Shutdown', new: 'Shutdown', why: 'a test' };

  it('replaces the text that is there once', async () => {
    writeFileSync(join(source, 'mode.go'), 'x = Reboot|Shutdown\n');

    await applyEdit(source, edit);

    expect(readFileSync(join(source, 'mode.go'), 'utf8')).toBe('x = Shutdown\n');
  });

  it.each([
    ['is not there', 'x = Upgrade\n', 0],
    ['is there twice', 'Reboot|Shutdown\nReboot|Shutdown\n', 2],
  ])('refuses a text that %s', async (_case, text, times) => {
    writeFileSync(join(source, 'mode.go'), text);

    await expect(applyEdit(source, edit)).rejects.toThrow(
      `Talos source mode.go: found "Reboot|Shutdown" ${times} times, expected once; adapt EDITS`,
    );
  });

  it('has a reason each', () => {
    expect(EDITS.filter(({ why }) => why.length < 20)).toEqual([]);
  });
});

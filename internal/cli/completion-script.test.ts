import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { aFolder, runInProcess } from '../../test/builders/cli.ts';

/** What bash offers after these words, the last of which is being typed. */
async function offered(...words: readonly string[]): Promise<string[]> {
  const { stdout: script } = await runInProcess(['completion', 'bash']);
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const program = `${script}
COMP_WORDS=(ichor ${quoted}); COMP_CWORD=${words.length}; _ichor; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', program], { encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.split('\n').filter((line) => line !== '');
}

describe('completion in bash', () => {
  it('offers nouns, verbs and options', async () => {
    assert.deepEqual(await offered('cl'), ['cluster']);
    assert.deepEqual(await offered('operation', 'p'), ['pause']);
    assert.deepEqual(await offered('cluster', 'rotate-ca', '--re'), ['--restart-workloads', '--recipient']);
  });

  it('offers the values of an option', async () => {
    assert.deepEqual(await offered('operation', 'list', '-o', ''), ['text', 'json', 'yaml']);
    assert.deepEqual(await offered('completion', 'z'), ['zsh']);
    assert.deepEqual(await offered('lab', 'break', 'power-'), ['power-loss']);
    assert.deepEqual(await offered('lab', 'mend', 'power-'), ['power-loss']);
  });

  it('offers the words of a list, after each comma anew', async () => {
    assert.deepEqual(await offered('cluster', 'rotate-ca', '--ca', ''), CA_TARGETS);
    assert.deepEqual(await offered('cluster', 'rotate-ca', '--ca', 'ku'), ['kubernetes', 'kubernetes-aggregator']);
    assert.deepEqual(await offered('cluster', 'rotate-ca', '--ca', 'talos,etcd,ku'), [
      'talos,etcd,kubernetes',
      'talos,etcd,kubernetes-aggregator',
    ]);
  });

  it('offers folders and files, whose names may hold spaces', async () => {
    using folder = aFolder();
    mkdirSync(join(folder.path, 'my lab'));
    writeFileSync(join(folder.path, 'my key'), '');
    const begun = join(folder.path, 'm');

    assert.deepEqual(await offered('lab', 'up', begun), [join(folder.path, 'my lab')]);
    assert.deepEqual(await offered('cluster', 'status', '--dir', begun), [join(folder.path, 'my lab')]);
    for (const words of [
      ['cluster', 'status', '--identity'],
      ['cluster', 'rotate-ca', '--evacuation-hook'],
      ['operation', 'continue', '--evacuation-hook'],
    ]) {
      assert.deepEqual((await offered(...words, begun)).sort(), [
        join(folder.path, 'my key'),
        join(folder.path, 'my lab'),
      ]);
    }
  });
});

describe('completion in fish and zsh', () => {
  it('names every verb', async () => {
    const fish = await runInProcess(['completion', 'fish']);
    const zsh = await runInProcess(['completion', 'zsh']);

    assert.match(fish.stdout, /-a rotate-ca -d 'replace certificate authorities of a cluster while it serves'/);
    assert.match(zsh.stdout, /^autoload -U \+X bashcompinit && bashcompinit\n/);
  });

  it('is refused for another shell', async () => {
    assert.equal((await runInProcess(['completion', 'tcsh'])).code, 2);
  });
});

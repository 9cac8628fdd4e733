import assert from 'node:assert/strict';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { aFolder } from '../../../test/builders/cli.ts';
import { credentialFiles } from './credential-files.ts';

describe('credential files', () => {
  it('go through three generations, each readable by its owner only', async () => {
    using folder = aFolder();
    const files = credentialFiles(folder.path);
    writeFileSync(join(folder.path, 'talosconfig'), 'first talosconfig');
    writeFileSync(join(folder.path, 'kubeconfig'), 'first kubeconfig');

    await files.offer({ talosconfig: 'next talosconfig', kubeconfig: 'next kubeconfig' });
    const offered = [await files.read(), statSync(join(folder.path, 'talosconfig.new')).mode & 0o777];
    await files.take();
    const taken = [await files.read(), await files.readOld()];
    await files.settle();

    assert.deepEqual(offered, [{ talosconfig: 'first talosconfig', kubeconfig: 'first kubeconfig' }, 0o600]);
    assert.deepEqual(taken, [
      { talosconfig: 'next talosconfig', kubeconfig: 'next kubeconfig' },
      { talosconfig: 'first talosconfig', kubeconfig: 'first kubeconfig' },
    ]);
    assert.deepEqual(readdirSync(folder.path).sort(), ['kubeconfig', 'talosconfig']);
    assert.equal(statSync(join(folder.path, 'kubeconfig')).mode & 0o777, 0o600);
  });

  it('keep the generation from before the rotation when they are taken again after a crash', async () => {
    using folder = aFolder();
    const files = credentialFiles(folder.path);
    await files.write({ talosconfig: 'before', kubeconfig: 'before' });
    await files.offer({ talosconfig: 'first try', kubeconfig: 'first try' });
    await files.take();

    await files.offer({ talosconfig: 'second try', kubeconfig: 'second try' });
    await files.take();

    assert.deepEqual(await files.readOld(), { talosconfig: 'before', kubeconfig: 'before' });
    assert.deepEqual(await files.read(), { talosconfig: 'second try', kubeconfig: 'second try' });
  });

  it('come back when the rotation is abandoned', async () => {
    using folder = aFolder();
    const files = credentialFiles(folder.path);
    await files.write({ talosconfig: 'before', kubeconfig: 'before' });
    await files.offer({ talosconfig: 'new', kubeconfig: 'new' });
    await files.take();

    await files.restore();

    assert.deepEqual(await files.read(), { talosconfig: 'before', kubeconfig: 'before' });
    assert.deepEqual(readdirSync(folder.path).sort(), ['kubeconfig', 'talosconfig']);
  });

  it('may be missing before a hand-off', async () => {
    using folder = aFolder();
    const files = credentialFiles(folder.path);
    await files.offer({ talosconfig: 'new', kubeconfig: 'new' });

    await files.take();

    assert.deepEqual(await files.readOld(), { talosconfig: undefined, kubeconfig: undefined });
    assert.deepEqual(await files.read(), { talosconfig: 'new', kubeconfig: 'new' });
  });

  it('that were missing before are missing again when the rotation is abandoned, however often they were taken', async () => {
    using folder = aFolder();
    const files = credentialFiles(folder.path);
    await files.write({ talosconfig: 'before' });
    for (const time of ['first', 'second']) {
      await files.offer({ talosconfig: time, kubeconfig: time });
      await files.take();
    }

    const old = await files.readOld();
    await files.restore();

    assert.deepEqual(old, { talosconfig: 'before', kubeconfig: undefined });
    assert.deepEqual(await files.read(), { talosconfig: 'before', kubeconfig: undefined });
    assert.deepEqual(readdirSync(folder.path), ['talosconfig']);
  });
});

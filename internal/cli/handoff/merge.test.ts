import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import { aCa, MADE_AT } from '../../../test/builders/certificates.ts';
import { aFolder } from '../../../test/builders/cli.ts';
import { aKubeconfig } from '../../../test/builders/kubeconfig.ts';
import { aTalosconfig } from '../../../test/builders/talosconfig.ts';
import { mergeIntoHome } from './merge.ts';

async function someCredentials() {
  const talos = await aCa('talos');
  return {
    talos,
    source: {
      talosconfig: await aTalosconfig(talos, MADE_AT),
      kubeconfig: (await aKubeconfig(await aCa('kubernetes'), MADE_AT)).expose(),
    },
  };
}

function contextsIn(home: string) {
  const path = join(home, '.talos', 'config');
  return parseTalosconfig(readFileSync(path, 'utf8'), path);
}

describe('mergeIntoHome', () => {
  it('makes both files where there are none, readable by their owner only', async () => {
    using home = aFolder();
    const { source } = await someCredentials();

    const written = await mergeIntoHome(home.path, source, []);

    assert.deepEqual(written, [join(home.path, '.talos', 'config'), join(home.path, '.kube', 'config')]);
    for (const path of written) assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(contextsIn(home.path).context, 'home');
  });

  it('replaces the context of this cluster, which it knows by its CA', async () => {
    using home = aFolder();
    const old = await aCa('talos');
    mkdirSync(join(home.path, '.talos'));
    writeFileSync(join(home.path, '.talos', 'config'), await aTalosconfig(old, MADE_AT));
    const { source, talos } = await someCredentials();

    await mergeIntoHome(home.path, source, [old.certificate.fingerprint, talos.certificate.fingerprint]);

    const { context, contexts } = contextsIn(home.path);
    assert.deepEqual([context, Object.keys(contexts)], ['home', ['home']]);
    assert.equal(contexts.home?.trust[0]?.fingerprint, talos.certificate.fingerprint);
  });

  it('leaves the context of another cluster alone that has the same name', async () => {
    using home = aFolder();
    const other = await aCa('talos');
    mkdirSync(join(home.path, '.talos'));
    writeFileSync(join(home.path, '.talos', 'config'), await aTalosconfig(other, MADE_AT));
    const { source, talos } = await someCredentials();

    await mergeIntoHome(home.path, source, [talos.certificate.fingerprint]);

    const { context, contexts } = contextsIn(home.path);
    assert.deepEqual([context, Object.keys(contexts)], ['home-1', ['home', 'home-1']]);
    assert.equal(contexts.home?.trust[0]?.fingerprint, other.certificate.fingerprint);
  });
});

import assert from 'node:assert/strict';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { parse } from 'yaml';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import { aCa, MADE_AT } from '../../../test/builders/certificates.ts';
import { aFolder } from '../../../test/builders/cli.ts';
import { aKubeconfig } from '../../../test/builders/kubeconfig.ts';
import { aTalosconfig } from '../../../test/builders/talosconfig.ts';
import { mergeIntoHome } from './merge.ts';

async function someCredentials() {
  const [talos, kubernetes] = [await aCa('talos'), await aCa('kubernetes')];
  const kubeconfig = (await aKubeconfig(kubernetes, MADE_AT)).expose();
  const [kube] = entriesOf(kubeconfig);
  assert.ok(kube !== undefined);
  return {
    talos,
    source: { talosconfig: await aTalosconfig(talos, MADE_AT), kubeconfig },
    /** What the kubeconfig says. */
    kube,
    known: [talos, kubernetes].map(({ certificate }) => certificate.fingerprint),
  };
}

/** The clusters of a kubeconfig, each with its context and user, which stand in the same order. */
function entriesOf(text: string) {
  const { clusters, contexts, users } = parse(text);
  return (clusters as Record<string, unknown>[]).map((cluster, index) => ({
    cluster,
    context: contexts[index] as Record<string, unknown>,
    user: users[index] as Record<string, unknown>,
  }));
}

function kubeIn(home: string) {
  return entriesOf(readFileSync(join(home, '.kube', 'config'), 'utf8'));
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

    assert.deepEqual(written, [
      { path: join(home.path, '.talos', 'config'), context: 'home', before: undefined },
      { path: join(home.path, '.kube', 'config'), context: 'admin@home', before: undefined },
    ]);
    for (const { path } of written) assert.equal(statSync(path).mode & 0o777, 0o600);
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

  it('gives a suffix where another cluster has the name, replaces what it wrote under it, and says what was selected', async () => {
    using home = aFolder();
    const other = await someCredentials();
    const first = await someCredentials();
    const second = await someCredentials();
    await mergeIntoHome(home.path, other.source, other.known);
    await mergeIntoHome(home.path, first.source, first.known);

    const merged = await mergeIntoHome(home.path, second.source, [...first.known, ...second.known]);

    assert.deepEqual(
      merged.map(({ context, before }) => [context, before]),
      [
        ['home-1', undefined],
        ['admin@home-1', undefined],
      ],
    );
    const { contexts } = contextsIn(home.path);
    assert.deepEqual(Object.keys(contexts), ['home', 'home-1']);
    assert.equal(contexts['home-1']?.trust[0]?.fingerprint, second.talos.certificate.fingerprint);
    const [theirs, ours] = kubeIn(home.path);
    assert.deepEqual(theirs, other.kube);
    assert.deepEqual(ours, {
      cluster: { ...second.kube.cluster, name: 'home-1' },
      context: {
        name: 'admin@home-1',
        context: { cluster: 'home-1', namespace: 'default', user: 'admin@home-1' },
      },
      user: { ...second.kube.user, name: 'admin@home-1' },
    });
  });

  it.each([
    [
      'a user of another context',
      'users: [{name: admin@home, user: {token: t}}]\ncontexts: [{name: x, context: {cluster: y, user: admin@home}}]',
    ],
    ['a user without a context', 'users: [{name: admin@home, user: {token: t}}]'],
    ['a context of another cluster', 'contexts: [{name: admin@home, context: {cluster: y, user: z}}]'],
    ['a cluster without a CA of its own', 'clusters: [{name: home, cluster: {server: "https://10.0.0.1:6443"}}]'],
    [
      'a cluster with a CA that cannot be read',
      'clusters: [{name: home, cluster: {certificate-authority-data: bm9uZQ==}}]',
    ],
  ])('replaces nothing of %s', async (_, entries) => {
    using home = aFolder();
    mkdirSync(join(home.path, '.kube'));
    const path = join(home.path, '.kube', 'config');
    const before = `kind: Config\ncurrent-context: prod\n${entries}\n`;
    writeFileSync(path, before);
    const { source, known } = await someCredentials();

    const [, kube] = await mergeIntoHome(home.path, source, known);

    assert.deepEqual([kube?.context, kube?.before], ['admin@home-1', 'prod']);
    const [held, after] = [parse(before), parse(readFileSync(path, 'utf8'))];
    for (const part of ['clusters', 'contexts', 'users']) {
      assert.deepEqual(after[part].slice(0, held[part]?.length ?? 0), held[part] ?? [], part);
    }
  });

  it('follows a link, which stays', async () => {
    using home = aFolder();
    const { source, known } = await someCredentials();
    mkdirSync(join(home.path, '.kube'));
    writeFileSync(join(home.path, 'dotfiles'), 'kind: Config\n', { mode: 0o600 });
    symlinkSync(join(home.path, 'dotfiles'), join(home.path, '.kube', 'config'));

    const [, kube] = await mergeIntoHome(home.path, source, known);

    assert.equal(kube?.path, join(realpathSync(home.path), 'dotfiles'));
    assert.equal(lstatSync(join(home.path, '.kube', 'config')).isSymbolicLink(), true);
    assert.match(readFileSync(join(home.path, 'dotfiles'), 'utf8'), /admin@home/);
  });

  it('writes neither file where one of them cannot be read', async () => {
    using home = aFolder();
    const { source, known } = await someCredentials();
    mkdirSync(join(home.path, '.kube'));
    writeFileSync(join(home.path, '.kube', 'config'), '{{ bad');

    await assert.rejects(mergeIntoHome(home.path, source, known), { exit: 'directory' });

    assert.deepEqual(readdirSync(home.path), ['.kube']);
  });

  it('writes nowhere where there is no home', async () => {
    const { source, known } = await someCredentials();

    await assert.rejects(mergeIntoHome('', source, known), {
      exit: 'directory',
      message: 'the home directory is not known; nothing was merged',
    });
  });
});

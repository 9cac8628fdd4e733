import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { parse } from 'yaml';
import { Secret } from '../../../pkg/pki/index.ts';
import { aCa, MADE_AT } from '../../../test/builders/certificates.ts';
import { aKubeconfig } from '../../../test/builders/kubeconfig.ts';
import { mergeKubeconfig } from './kubeconfig-text.ts';

describe('mergeKubeconfig', () => {
  it('replaces entries of the same name, keeps all others and every field that it does not know', async () => {
    const ca = await aCa('kubernetes');
    const old = Secret.of(
      'kubeconfig',
      `kind: Config
preferences: {colors: true}
current-context: work
clusters: [{name: home, cluster: {server: 'https://old:6443'}}, {name: work, cluster: {server: 'https://work:6443'}}]
users: [{name: admin@home, user: {token: old}}, {name: me, user: {token: mine}}]
contexts: [{name: work, context: {cluster: work, user: me}}]
`,
    );

    const merged = parse((await mergeKubeconfig(old, await aKubeconfig(ca, MADE_AT), '~/.kube/config')).expose());

    assert.deepEqual(merged.preferences, { colors: true });
    assert.equal(merged['current-context'], 'admin@home');
    assert.deepEqual(
      merged.clusters.map((each: { name: string; cluster: { server: string } }) => [each.name, each.cluster.server]),
      [
        ['home', 'https://10.0.0.1:6443'],
        ['work', 'https://work:6443'],
      ],
    );
    assert.deepEqual(
      merged.users.map((each: { name: string }) => each.name),
      ['admin@home', 'me'],
    );
    assert.equal(merged.users[0].user.token, undefined);
    assert.deepEqual(merged.users[1].user, { token: 'mine' });
    assert.deepEqual(
      merged.contexts.map((each: { name: string }) => each.name),
      ['work', 'admin@home'],
    );
  });

  it('is the new one where there was none', async () => {
    const added = await aKubeconfig(await aCa('kubernetes'), MADE_AT);

    assert.equal(await mergeKubeconfig(undefined, added, 'nowhere'), added);
  });

  it('names the file and the line, and not what stands there, when it is no YAML', async () => {
    const broken = Secret.of('kubeconfig', 'users:\n  - client-key-data: "c2VjcmV0\n');

    await assert.rejects(
      mergeKubeconfig(broken, await aKubeconfig(await aCa('kubernetes'), MADE_AT), '~/.kube/config'),
      {
        exit: 'directory',
        message: '~/.kube/config is not YAML (line 3: MISSING_CHAR)',
      },
    );
  });
});

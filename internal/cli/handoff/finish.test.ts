import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { exportFingerprint } from '../../../pkg/bundle/index.ts';
import { fromKubeconfig } from '../../../pkg/kube/index.ts';
import { parseTalosconfig } from '../../../pkg/talos/index.ts';
import { aBundleDocument, aNewCa } from '../../../test/builders/bundle.ts';
import { MADE_AT } from '../../../test/builders/certificates.ts';
import { aClusterFolder } from '../../../test/builders/cli.ts';
import { aKubeconfig } from '../../../test/builders/kubeconfig.ts';
import { createManualClock } from '../../../test/builders/manual-clock.ts';
import { aTalosconfig } from '../../../test/builders/talosconfig.ts';
import { openEmbeddedStore } from '../../store/index.ts';
import type { ClusterView } from '../cluster-view.ts';
import { credentialFiles } from './credential-files.ts';
import { finishCredentials, settleLeftovers } from './finish.ts';

const DAY_MS = 86_400_000;

/** A cluster of one control plane that issues kubeconfigs by this CA. */
async function aView(now: number): Promise<ClusterView> {
  const { bundle } = await aBundleDocument();
  const plane = { name: 'cp1', address: '10.0.0.1', role: 'controlplane', node: undefined } as const;
  return {
    controlPlanes: async () => [plane],
    machines: async () => [plane],
    clusterName: async () => 'home',
    issueKubeconfig: () => aKubeconfig(bundle.kubernetes, now),
  } as unknown as ClusterView;
}

async function finish(directory: string, now: number, makeKubeconfig = true): Promise<string[]> {
  return finishCredentials({
    store: await openEmbeddedStore({ directory }),
    view: await aView(now),
    clock: createManualClock(now),
    makeKubeconfig,
    onWaiting: () => assert.fail(),
  });
}

describe('finishCredentials', () => {
  it('leaves credentials alone that are good for longer than 30 days', async () => {
    using folder = aClusterFolder();
    const { bundle } = await aBundleDocument();
    const texts = {
      talosconfig: await aTalosconfig(bundle.talos, MADE_AT, { validityMs: 31 * DAY_MS }),
      kubeconfig: (await aKubeconfig(bundle.kubernetes, MADE_AT, { validityMs: 31 * DAY_MS })).expose(),
    };
    const files = credentialFiles(folder.path);
    await files.write(texts);

    const said = await finish(folder.path, MADE_AT);

    assert.deepEqual(said, []);
    assert.deepEqual(await files.read(), texts);
  });

  it('renews an expired administrator from the CA of secrets.yaml, says so, and changes no CA', async () => {
    using folder = aClusterFolder();
    const { bundle } = await aBundleDocument();
    const files = credentialFiles(folder.path);
    await files.write({ talosconfig: await aTalosconfig(bundle.talos, MADE_AT, { validityMs: DAY_MS }) });
    const now = MADE_AT + 2 * DAY_MS;

    const said = await finish(folder.path, now, false);

    assert.deepEqual(said, [
      `the administrator's certificate in ${folder.path}/talosconfig was renewed from the CA in secrets.yaml (it expired at 2026-12-01T00:53:20.000Z); it is valid until 2027-12-02T00:53:20.000Z`,
    ]);
    const store = await openEmbeddedStore({ directory: folder.path });
    assert.equal(exportFingerprint((await store.readBundle()).bundle), exportFingerprint(bundle));
    assert.deepEqual(await store.listOperations(), []);
    const { talosconfig = '' } = await files.read();
    assert.equal(
      parseTalosconfig(talosconfig, 'talosconfig').contexts.home?.credentials?.certificate.notAfter,
      now + 365 * DAY_MS,
    );
  });

  it('makes both files where they were lost', async () => {
    using folder = aClusterFolder();
    const files = credentialFiles(folder.path);

    const said = await finish(folder.path, MADE_AT);

    assert.deepEqual(said, [
      `the administrator's certificate in ${folder.path}/talosconfig was renewed from the CA in secrets.yaml (there was none); it is valid until 2027-11-30T00:53:20.000Z`,
      `${folder.path}/kubeconfig was issued anew by a control plane (there was none)`,
    ]);
    const { talosconfig = '' } = await files.read();
    const { context, contexts } = parseTalosconfig(talosconfig, 'talosconfig');
    assert.deepEqual([context, contexts.home?.endpoints], ['home', ['10.0.0.1']]);
  });

  it('takes the old CA out of what was handed over during a rotation', async () => {
    using folder = aClusterFolder();
    const { bundle } = await aBundleDocument();
    const old = await aNewCa('talos');
    const files = credentialFiles(folder.path);
    const config = parseTalosconfig(await aTalosconfig(bundle.talos, MADE_AT), 'talosconfig');
    const context = config.contexts.home;
    assert.ok(context !== undefined);
    const { writeTalosconfig } = await import('../../../pkg/talos/index.ts');
    await files.write({
      talosconfig: writeTalosconfig({
        ...config,
        contexts: { home: { ...context, trust: [old.certificate, bundle.talos.certificate] } },
      }),
    });
    writeFileSync(join(folder.path, 'talosconfig.old'), 'before');

    const said = await finish(folder.path, MADE_AT, false);

    assert.deepEqual(said, [`${folder.path}/talosconfig trusts the CA of secrets.yaml alone now`]);
    const after = parseTalosconfig((await files.read()).talosconfig ?? '', 'talosconfig').contexts.home;
    assert.deepEqual(
      after?.trust.map((ca) => ca.fingerprint),
      [bundle.talos.certificate.fingerprint],
    );
    assert.equal(after?.credentials?.certificate.fingerprint, context.credentials?.certificate.fingerprint);
    assert.deepEqual(readdirSync(folder.path).sort(), ['secrets.yaml', 'talosconfig']);
  });

  it('exchanges a kubeconfig that trusts the CA of before as well, and says that it did', async () => {
    using folder = aClusterFolder();
    const { bundle } = await aBundleDocument();
    const alsoTrusted = [await aNewCa('kubernetes')];
    await credentialFiles(folder.path).write({
      talosconfig: await aTalosconfig(bundle.talos, MADE_AT),
      kubeconfig: (await aKubeconfig(bundle.kubernetes, MADE_AT, { alsoTrusted })).expose(),
    });

    assert.deepEqual(await finish(folder.path, MADE_AT), [
      `${folder.path}/kubeconfig was issued anew by a control plane (before, it trusted the old CA as well)`,
    ]);
  });

  it('exchanges a kubeconfig of another CA', async () => {
    using folder = aClusterFolder();
    const { bundle } = await aBundleDocument();
    const files = credentialFiles(folder.path);
    await files.write({
      talosconfig: await aTalosconfig(bundle.talos, MADE_AT),
      kubeconfig: (await aKubeconfig(await aNewCa('kubernetes'), MADE_AT)).expose(),
    });

    const said = await finish(folder.path, MADE_AT);

    assert.deepEqual(said, [
      `${folder.path}/kubeconfig was issued anew by a control plane (it was not issued by the CA of secrets.yaml)`,
    ]);
    const { trust } = await fromKubeconfig((await files.read()).kubeconfig ?? '');
    assert.deepEqual(
      trust.map((ca) => ca.fingerprint),
      [bundle.kubernetes.certificate.fingerprint],
    );
  });
});

describe('settleLeftovers', () => {
  it('brings the credentials from before back after a rotation that was abandoned', async () => {
    using folder = aClusterFolder();
    const { bundle } = await aBundleDocument();
    const before = await aTalosconfig(bundle.talos, MADE_AT);
    const files = credentialFiles(folder.path);
    await files.write({ talosconfig: before });
    await files.offer({
      talosconfig: await aTalosconfig(await aNewCa('talos'), MADE_AT),
      kubeconfig: (await aKubeconfig(await aNewCa('kubernetes'), MADE_AT)).expose(),
    });
    await files.take();

    const said = await settleLeftovers(await openEmbeddedStore({ directory: folder.path }), MADE_AT);

    assert.equal(said, 'the credentials from before the abandoned rotation are in use again');
    assert.equal((await files.read()).talosconfig, before);
  });

  it('removes the credentials from before after a rotation that was completed', async () => {
    using folder = aClusterFolder();
    const { bundle } = await aBundleDocument();
    const files = credentialFiles(folder.path);
    const taken = await aTalosconfig(bundle.talos, MADE_AT);
    await files.write({ talosconfig: taken });
    writeFileSync(join(folder.path, 'talosconfig.old'), await aTalosconfig(await aNewCa('talos'), MADE_AT));

    const said = await settleLeftovers(await openEmbeddedStore({ directory: folder.path }), MADE_AT);

    assert.equal(said, 'the credentials from before the rotation were removed');
    assert.equal((await files.read()).talosconfig, taken);
    assert.deepEqual(readdirSync(folder.path).sort(), ['secrets.yaml', 'talosconfig']);
  });

  it('does nothing where nothing was left', async () => {
    using folder = aClusterFolder();

    assert.equal(await settleLeftovers(await openEmbeddedStore({ directory: folder.path }), MADE_AT), undefined);
  });
});

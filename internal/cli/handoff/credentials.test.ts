import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { RotationRecord, SecretsBundle } from '../../../pkg/bundle/index.ts';
import { fromKubeconfig } from '../../../pkg/kube/index.ts';
import { type CertificateAndKey, Secret, verifyChain } from '../../../pkg/pki/index.ts';
import { aBundleDocument, aNewCa } from '../../../test/builders/bundle.ts';
import { MADE_AT } from '../../../test/builders/certificates.ts';
import { aKubeconfig } from '../../../test/builders/kubeconfig.ts';
import type { ClusterState } from '../../controller/index.ts';
import { authoritiesFor, makeCredentials } from './credentials.ts';

const NOW = MADE_AT;
const CONTEXT = { endpoints: ['10.0.0.1'], nodes: ['10.0.0.1'], rest: { cluster: 'home' } };

async function aState(targets: Partial<Record<'talos' | 'kubernetes', CertificateAndKey>>): Promise<ClusterState> {
  const { bundle } = await aBundleDocument();
  return { bundle, previous: undefined, record: { targets } as RotationRecord };
}

function prints(certificates: readonly { readonly fingerprint: string }[]): string[] {
  return certificates.map((each) => each.fingerprint);
}

describe('makeCredentials', () => {
  it('issues from the new CAs and trusts the old and the new one', async () => {
    const [talos, kubernetes] = [await aNewCa('talos'), await aNewCa('kubernetes')];
    const state = await aState({ talos, kubernetes });

    const made = await makeCredentials({
      state,
      now: NOW,
      context: CONTEXT,
      issuedKubeconfig: await aKubeconfig(state.bundle.kubernetes, NOW),
    });

    const kube = await fromKubeconfig(made.kubeconfig.expose());
    assert.ok(kube.credentials.kind === 'certificate');
    assert.deepEqual(prints(made.talos.trust), prints([state.bundle.talos.certificate, talos.certificate]));
    assert.deepEqual(prints(kube.trust), prints([state.bundle.kubernetes.certificate, kubernetes.certificate]));
    const usage = { now: NOW, usage: 'client' } as const;
    assert.equal(verifyChain(made.talos.credentials.certificate, [talos.certificate], usage).ok, true);
    assert.equal(verifyChain(kube.credentials.certificate, [kubernetes.certificate], usage).ok, true);
    assert.equal(verifyChain(kube.credentials.certificate, [state.bundle.kubernetes.certificate], usage).ok, false);
    assert.equal(kube.credentials.certificate.subject, 'O=system:masters, CN=admin');
  });

  it('keeps the endpoints, the nodes and everything else of the context', async () => {
    const state = await aState({ talos: await aNewCa('talos') });

    const { talos } = await makeCredentials({
      state,
      now: NOW,
      context: CONTEXT,
      issuedKubeconfig: await aKubeconfig(state.bundle.kubernetes, NOW),
    });

    assert.deepEqual([talos.endpoints, talos.nodes, talos.rest], [['10.0.0.1'], ['10.0.0.1'], { cluster: 'home' }]);
  });

  it('hands on the kubeconfig that Talos issued when the Kubernetes CA stays', async () => {
    const state = await aState({ talos: await aNewCa('talos') });
    const issuedKubeconfig = await aKubeconfig(state.bundle.kubernetes, NOW);

    const made = await makeCredentials({ state, now: NOW, context: CONTEXT, issuedKubeconfig });

    assert.equal(made.kubeconfig.expose(), issuedKubeconfig.expose());
  });

  it('refuses a kubeconfig of two clusters, naming what it found', async () => {
    const state = await aState({ kubernetes: await aNewCa('kubernetes') });
    const one = await aKubeconfig(state.bundle.kubernetes, NOW);
    const two = Secret.of(
      'kubeconfig',
      one.expose().replace('clusters:\n', 'clusters:\n  - name: other\n    cluster: {}\n'),
    );

    await assert.rejects(makeCredentials({ state, now: NOW, context: CONTEXT, issuedKubeconfig: two }), {
      message: 'the kubeconfig that the machine issued has 2 clusters and 1 users; expected one of each',
    });
  });
});

describe('authoritiesFor', () => {
  it('trusts the old CA out of the kept bundle once the bundle holds the new one', async () => {
    const talos = await aNewCa('talos');
    const before = (await aBundleDocument()).bundle;
    const after: SecretsBundle = { ...before, talos };

    const { trust, issuing } = authoritiesFor(
      { bundle: after, previous: before, record: { targets: { talos } } as RotationRecord },
      'talos',
    );

    assert.deepEqual(prints(trust), prints([before.talos.certificate, talos.certificate]));
    assert.equal(issuing.certificate.fingerprint, talos.certificate.fingerprint);
  });

  it('is the CA of the bundle alone outside of a rotation', async () => {
    const { bundle } = await aBundleDocument();

    const { trust, issuing } = authoritiesFor({ bundle, previous: undefined, record: undefined }, 'kubernetes');

    assert.deepEqual(prints(trust), [bundle.kubernetes.certificate.fingerprint]);
    assert.equal(issuing, bundle.kubernetes);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Certificate, parseCertificates } from '../../../pkg/pki/index.ts';
import {
  type CertificatesOfKey,
  KUBELET_SECRETS,
  KUBERNETES_DYNAMIC_CERTIFICATES,
  KUBERNETES_ROOT,
  probeTls,
} from '../../../pkg/talos/index.ts';
import { ALWAYS, KUBELET_CLIENT, KUBERNETES_CHAIN, STATIC_PODS } from './kinds.ts';
import { byKind, caOf, prints, type StagedChanges, signedBy } from './staging.ts';
import { PATIENT, until } from './subject.ts';
import type { Subject } from './target.ts';

/** For what follows when the pods are ready again. */
const POD_QUIET_MS = 8_000;
const PODS_ONLY = [...KUBERNETES_CHAIN, ...ALWAYS, ...STATIC_PODS].sort(byKind);
const PODS_AND_KUBELET = [...KUBERNETES_CHAIN, 'KubeletSecrets', ...ALWAYS, ...STATIC_PODS, 'service:kubelet'].sort(
  byKind,
);
const RESTARTING = { expected: PODS_AND_KUBELET, quietMs: POD_QUIET_MS };
const KUBERNETES_KINDS = ['kubernetes-aggregator', 'service-account', 'etcd-encryption', 'kubernetes'] as const;

/** An aggregator CA accepted before anything else; the stages of all Kubernetes material may follow. */
export function aggregatorAloneConformance(subject: () => Subject, changes: StagedChanges): void {
  describe('Kubernetes material, one kind of it', PATIENT, () => {
    const facts = factsOf(subject, changes);

    it('an aggregator CA accepted alone restarts the three static pods and leaves the kubelet alone', async () => {
      expect(
        await changes.effect(['kubernetes-aggregator'], 'Accepting', { expected: PODS_ONLY, quietMs: POD_QUIET_MS }),
      ).toEqual(PODS_ONLY);
      expect(await facts.otherFacts()).toMatchObject({
        frontProxySignedByNew: false,
        aggregatorAccepted: ['old', 'new'],
      });
    });
  });
}

/** All Kubernetes material of one control plane through its stages, in whichever shape the configuration begins. */
export function kubernetesStagesConformance(subject: () => Subject, changes: StagedChanges): void {
  describe('Kubernetes material, stage by stage', PATIENT, () => {
    const facts = factsOf(subject, changes);
    let kubeletClientBefore: Buffer;

    beforeAll(async () => {
      kubeletClientBefore = await facts.kubeletClientFile();
    });

    it('accepting all of it restarts static pods and kubelet, and leaves every leaf with the old', async () => {
      expect(await changes.effect(KUBERNETES_KINDS, 'Accepting', RESTARTING)).toEqual(PODS_AND_KUBELET);

      expect(await facts.otherFacts()).toEqual({
        frontProxySignedByNew: false,
        aggregatorAccepted: ['old', 'new'],
        tokensSignedBy: 'old',
        tokensAccepted: ['new', 'old'],
        encryption: ['key2', 'key3'],
      });
      expect(await facts.kubernetesFacts()).toEqual({
        apiServerServes: 'old',
        behindItsLeaf: ['old'],
        apiServerShowsKubelets: 'old',
        kubeletShows: 'old',
        kubeletTrusts: ['old', 'new'],
      });
      expect((await facts.kubeletClientFile()).equals(kubeletClientBefore)).toBe(true);
    });

    it('issuing with the new re-issues what API servers serve and show; the kubelet keeps its old client certificate', async () => {
      expect(await changes.effect(KUBERNETES_KINDS, 'Issuing', RESTARTING)).toEqual(PODS_AND_KUBELET);

      expect(await facts.otherFacts()).toEqual({
        frontProxySignedByNew: true,
        aggregatorAccepted: ['new', 'old'],
        tokensSignedBy: 'new',
        tokensAccepted: ['new', 'old'],
        encryption: ['key3', 'key2'],
      });
      expect(await facts.kubernetesFacts()).toEqual({
        apiServerServes: 'new',
        behindItsLeaf: ['new'],
        apiServerShowsKubelets: 'new',
        kubeletShows: 'old',
        kubeletTrusts: ['new', 'old'],
      });
      expect((await facts.kubeletClientFile()).equals(kubeletClientBefore)).toBe(true);
    });

    it('dropping the old takes the kubelet’s old client certificate away, and it gets a new one', async () => {
      // The old encryption key stays: objects are still stored under it.
      const kinds = KUBERNETES_KINDS.filter((kind) => kind !== 'etcd-encryption');
      expect(await changes.effect(kinds, 'Dropping', RESTARTING)).toEqual(PODS_AND_KUBELET);

      await until('the kubelet has another client certificate', 600_000, async () => {
        return !(await facts.kubeletClientFile()).equals(kubeletClientBefore);
      });
      expect(await facts.otherFacts()).toEqual({
        frontProxySignedByNew: true,
        aggregatorAccepted: ['new'],
        tokensSignedBy: 'new',
        tokensAccepted: ['new'],
        encryption: ['key3', 'key2'],
      });
      expect(await facts.kubernetesFacts()).toEqual({
        apiServerServes: 'new',
        behindItsLeaf: ['new'],
        apiServerShowsKubelets: 'new',
        kubeletShows: 'new',
        kubeletTrusts: ['new'],
      });
    });

    it('a kubeconfig issued after that trusts the new CA alone', async () => {
      const ca = caOf(await changes.change('kubernetes'));
      const kubeconfig: unknown = parse((await subject().first.kubeconfig()).expose());
      const [{ cluster }] = (kubeconfig as { clusters: [{ cluster: { 'certificate-authority-data': string } }] })
        .clusters;
      const trust = parseCertificates(Buffer.from(cluster['certificate-authority-data'], 'base64').toString());

      expect(prints(trust)).toEqual(prints([ca.new.certificate]));
    });
  });
}

/** What a control plane serves, shows, trusts and has, in the words `old` and `new`. */
function factsOf(subject: () => Subject, changes: StagedChanges) {
  const kubeletClientFile = () => subject().first.readFile(KUBELET_CLIENT);
  const root = async () => (await subject().first.get(KUBERNETES_ROOT))?.spec;
  const dynamic = async () => (await subject().first.get(KUBERNETES_DYNAMIC_CERTIFICATES))?.spec;
  const leafOf = (pair: CertificatesOfKey | undefined) => pair?.certificates[0];
  const served = async () => {
    const { first, target } = subject();
    const ca = caOf(await changes.change('kubernetes'));
    const trust = [ca.old.certificate, ca.new.certificate];
    const probe = await probeTls({ host: first.address, port: 6443, trust, credentials: target.credentials });
    return probe.chain;
  };

  /** Who signed what the API server serves and shows, and what the kubelet shows and trusts. */
  const kubernetesFacts = async () => {
    const ca = caOf(await changes.change('kubernetes'));
    const signer = (leaf: Certificate | undefined) =>
      signedBy(leaf, ca.old) ? 'old' : signedBy(leaf, ca.new) ? 'new' : 'other';
    const name = (print: string) =>
      print === ca.old.certificate.fingerprint ? 'old' : print === ca.new.certificate.fingerprint ? 'new' : 'other';
    const chain = await served();
    return {
      apiServerServes: signer(chain[0]),
      behindItsLeaf: prints(chain)?.slice(1).map(name),
      apiServerShowsKubelets: signer(leafOf((await dynamic())?.kubeletClient)),
      kubeletShows: signer(parseCertificates(withoutKey(await kubeletClientFile()))[0]),
      kubeletTrusts: prints((await subject().first.get(KUBELET_SECRETS))?.spec.accepted)?.map(name),
    };
  };
  /** Which keys and CAs the control plane has, by name, in order. */
  const otherFacts = async () => {
    const found = await root();
    const aggregator = caOf(await changes.change('kubernetes-aggregator'));
    const account = await changes.change('service-account');
    if (account.target !== 'service-account') throw new Error('not a service-account change');
    const keyName = (print: string | undefined) =>
      print === account.old.fingerprint ? 'old' : print === account.new.fingerprint ? 'new' : 'other';
    const caName = (print: string) =>
      print === aggregator.old.certificate.fingerprint
        ? 'old'
        : print === aggregator.new.certificate.fingerprint
          ? 'new'
          : 'other';
    return {
      frontProxySignedByNew: signedBy(leafOf((await dynamic())?.frontProxy), aggregator.new),
      aggregatorAccepted: prints(found?.acceptedAggregator)?.map(caName),
      tokensSignedBy: keyName(found?.serviceAccountKey),
      tokensAccepted: found?.acceptedServiceAccountKeys.map(keyName).toSorted(),
      encryption: found?.encryption
        .flatMap((entry) => entry.keys)
        .filter(({ provider }) => provider === 'secretbox')
        .map(({ name }) => name),
    };
  };
  return { kubeletClientFile, kubernetesFacts, otherFacts };
}

function withoutKey(pem: Buffer): string {
  return pem
    .toString()
    .replaceAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----\n?/g, '');
}

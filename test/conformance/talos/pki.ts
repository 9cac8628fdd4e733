import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Change, type RenderStage, renderStage } from '../../../pkg/machineconfig/index.ts';
import {
  type Certificate,
  type CertificateAndKey,
  issueLeaf,
  parseCertificates,
  talosAdminProfile,
} from '../../../pkg/pki/index.ts';
import {
  API_CERTIFICATES,
  type CertificatesOfKey,
  KUBELET_SECRETS,
  KUBERNETES_DYNAMIC_CERTIFICATES,
  KUBERNETES_ROOT,
  OS_ROOT,
  probeTls,
  proveRefused,
  type TalosMachine,
} from '../../../pkg/talos/index.ts';
import { ALWAYS, KUBERNETES_CHAIN, PKI_KINDS, STATIC_PODS, TALOS_CHAIN } from './kinds.ts';
import { type ChangeKind, changeOf } from './material.ts';
import { change as changeConfig, effectOf, eventually, failureOf, PATIENT, until } from './subject.ts';
import type { Subject } from './target.ts';

/** For what follows when the pods are ready again. */
const POD_QUIET_MS = 8_000;
const KUBELET_CLIENT = '/var/lib/kubelet/pki/kubelet-client-current.pem';
const PODS_ONLY = [...KUBERNETES_CHAIN, ...ALWAYS, ...STATIC_PODS].sort(byKind);
const PODS_AND_KUBELET = [...KUBERNETES_CHAIN, 'KubeletSecrets', ...ALWAYS, ...STATIC_PODS, 'service:kubelet'].sort(
  byKind,
);
const TALOS_ONLY = [...TALOS_CHAIN, ...ALWAYS].sort();

/** `moved` sorts resources before pods before services. */
function byKind(a: string, b: string): number {
  const rank = (name: string) => (name.startsWith('pod:') ? 1 : name.startsWith('service:') ? 2 : 0);
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

export function signedBy(leaf: Certificate | undefined, ca: CertificateAndKey): boolean {
  if (leaf === undefined) return false;
  return new X509Certificate(leaf.pem).verify(new X509Certificate(ca.certificate.pem).publicKey);
}

/** Applies the stage of one change, or of several at once. */
export async function bring(
  machine: TalosMachine,
  change: Change | readonly Change[],
  stage: RenderStage,
): Promise<void> {
  const { tag } = await machine.version();
  const changes = [change].flat();
  await changeConfig(machine, (config) => renderStage(config, changes, stage, { talosVersion: tag }));
}

export function caOf(change: Change): { old: CertificateAndKey; new: CertificateAndKey } {
  if (!('certificate' in change.old) || !('certificate' in change.new)) throw new Error(`${change.target} is no CA`);
  return { old: change.old, new: change.new };
}

export const prints = (certificates: readonly Certificate[] | undefined) =>
  certificates?.map(({ fingerprint }) => fingerprint);

/**
 * What each stage of each target does to one control plane, beginning with the
 * cluster's first material. Leaves the cluster on new material.
 */
export function pkiConformance(subject: () => Subject): void {
  const changes = new Map<ChangeKind, Change>();
  const change = async (kind: ChangeKind): Promise<Change> => {
    const made = changes.get(kind) ?? (await changeOf(kind, subject().target.bundle));
    changes.set(kind, made);
    return made;
  };
  const effect = async (
    kinds: readonly ChangeKind[],
    stage: RenderStage,
    expected: readonly string[],
    quietMs = POD_QUIET_MS,
  ) => {
    const made = await Promise.all(kinds.map(change));
    const { first } = subject();
    return effectOf(first, PKI_KINDS, { act: () => bring(first, made, stage), expected, quietMs });
  };

  describe('Kubernetes material, stage by stage', PATIENT, () => {
    const KUBERNETES_KINDS = ['kubernetes-aggregator', 'service-account', 'etcd-encryption', 'kubernetes'] as const;
    let kubeletClientBefore: Buffer;

    const kubeletClientFile = () => subject().first.readFile(KUBELET_CLIENT);
    const root = async () => (await subject().first.get(KUBERNETES_ROOT))?.spec;
    const dynamic = async () => (await subject().first.get(KUBERNETES_DYNAMIC_CERTIFICATES))?.spec;
    const leafOf = (pair: CertificatesOfKey | undefined) => pair?.certificates[0];
    const served = async () => {
      const { first, target } = subject();
      const ca = caOf(await change('kubernetes'));
      const trust = [ca.old.certificate, ca.new.certificate];
      const probe = await probeTls({ host: first.address, port: 6443, trust, credentials: target.credentials });
      return probe.chain;
    };

    /** Who signed what the API server serves and shows, and what the kubelet shows and trusts. */
    const kubernetesFacts = async () => {
      const ca = caOf(await change('kubernetes'));
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
      const aggregator = caOf(await change('kubernetes-aggregator'));
      const account = await change('service-account');
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

    it('an aggregator CA accepted alone restarts the three static pods and leaves the kubelet alone', async () => {
      kubeletClientBefore = await kubeletClientFile();

      expect(await effect(['kubernetes-aggregator'], 'Accepting', PODS_ONLY)).toEqual(PODS_ONLY);
      expect(await otherFacts()).toMatchObject({ frontProxySignedByNew: false, aggregatorAccepted: ['old', 'new'] });
    });

    it('accepting all of it restarts static pods and kubelet, and leaves every leaf with the old', async () => {
      expect(await effect(KUBERNETES_KINDS, 'Accepting', PODS_AND_KUBELET)).toEqual(PODS_AND_KUBELET);

      expect(await otherFacts()).toEqual({
        frontProxySignedByNew: false,
        aggregatorAccepted: ['old', 'new'],
        tokensSignedBy: 'old',
        tokensAccepted: ['new', 'old'],
        encryption: ['key2', 'key3'],
      });
      expect(await kubernetesFacts()).toEqual({
        apiServerServes: 'old',
        behindItsLeaf: ['old'],
        apiServerShowsKubelets: 'old',
        kubeletShows: 'old',
        kubeletTrusts: ['old', 'new'],
      });
      expect((await kubeletClientFile()).equals(kubeletClientBefore)).toBe(true);
    });

    it('issuing with the new re-issues what API servers serve and show; the kubelet keeps its old client certificate', async () => {
      expect(await effect(KUBERNETES_KINDS, 'Issuing', PODS_AND_KUBELET)).toEqual(PODS_AND_KUBELET);

      expect(await otherFacts()).toEqual({
        frontProxySignedByNew: true,
        aggregatorAccepted: ['new', 'old'],
        tokensSignedBy: 'new',
        tokensAccepted: ['new', 'old'],
        encryption: ['key3', 'key2'],
      });
      expect(await kubernetesFacts()).toEqual({
        apiServerServes: 'new',
        behindItsLeaf: ['new'],
        apiServerShowsKubelets: 'new',
        kubeletShows: 'old',
        kubeletTrusts: ['new', 'old'],
      });
      expect((await kubeletClientFile()).equals(kubeletClientBefore)).toBe(true);
    });

    it('dropping the old takes the kubelet’s old client certificate away, and it gets a new one', async () => {
      // The old encryption key stays: objects are still stored under it.
      const kinds = KUBERNETES_KINDS.filter((kind) => kind !== 'etcd-encryption');
      expect(await effect(kinds, 'Dropping', PODS_AND_KUBELET)).toEqual(PODS_AND_KUBELET);

      await until('the kubelet has another client certificate', 600_000, async () => {
        return !(await kubeletClientFile()).equals(kubeletClientBefore);
      });
      expect(await otherFacts()).toEqual({
        frontProxySignedByNew: true,
        aggregatorAccepted: ['new'],
        tokensSignedBy: 'new',
        tokensAccepted: ['new'],
        encryption: ['key3', 'key2'],
      });
      expect(await kubernetesFacts()).toEqual({
        apiServerServes: 'new',
        behindItsLeaf: ['new'],
        apiServerShowsKubelets: 'new',
        kubeletShows: 'new',
        kubeletTrusts: ['new'],
      });
    });

    it('a kubeconfig issued after that trusts the new CA alone', async () => {
      const ca = caOf(await change('kubernetes'));
      const kubeconfig: unknown = parse((await subject().first.kubeconfig()).expose());
      const [{ cluster }] = (kubeconfig as { clusters: [{ cluster: { 'certificate-authority-data': string } }] })
        .clusters;
      const trust = parseCertificates(Buffer.from(cluster['certificate-authority-data'], 'base64').toString());

      expect(prints(trust)).toEqual(prints([ca.new.certificate]));
    });
  });

  describe('a mistake in the etcd CA', PATIENT, () => {
    it('is applied without a word: a key that does not fit leaves the old leaves in place', async () => {
      const { first, target } = subject();
      const { config } = await first.configuration('active');
      const good = Buffer.from(target.bundle.etcd.key.expose()).toString('base64');
      const foreign = caOf(await changeOf('etcd', target.bundle)).new;
      const bad = Buffer.from(foreign.key.expose()).toString('base64');

      const effects = await effectOf(first, PKI_KINDS, {
        act: () => changeConfig(first, (text) => text.replaceAll(good, bad)),
        expected: ['EtcdRoot', ...ALWAYS],
        quietMs: 10_000,
      });

      expect(effects).toEqual(['EtcdRoot', ...ALWAYS]);
      await effectOf(first, PKI_KINDS, {
        act: () => first.apply({ config, mode: 'NO_REBOOT' }),
        expected: ['EtcdRoot', 'EtcdSecrets', 'PKIStatus'],
        quietMs: 5_000,
      });
    });
  });

  describe('the Talos CA', PATIENT, () => {
    const admin = (ca: CertificateAndKey) => issueLeaf(ca, talosAdminProfile({ now: Date.now() }));
    const root = async () => {
      const spec = (await subject().first.get(OS_ROOT))?.spec;
      return { issuing: prints(spec?.issuing?.certificates), accepted: prints(spec?.accepted) };
    };
    const apid = async () => (await subject().first.get(API_CERTIFICATES))?.spec;
    const enter = async (credentials: CertificateAndKey) => {
      const { first } = subject();
      const ca = caOf(await change('talos'));
      const trust = [ca.old.certificate, ca.new.certificate];
      return probeTls({ host: first.address, port: 50_000, trust, credentials });
    };

    it('accepted beside the old one takes clients of both, restarts nothing and keeps the connection', async () => {
      const ca = caOf(await change('talos'));
      expect(await enter(await admin(ca.new))).toMatchObject({
        verdict: 'untrusted-client',
        reason: 'unknown-authority',
      });

      expect(await effect(['talos'], 'Accepting', TALOS_ONLY, 5_000)).toEqual(TALOS_ONLY);

      expect(await root()).toEqual({
        issuing: prints([ca.old.certificate]),
        accepted: prints([ca.new.certificate, ca.old.certificate]),
      });
      expect((await enter(await admin(ca.new))).verdict).toBe('accepted');
      expect((await enter(await admin(ca.old))).verdict).toBe('accepted');
    });

    it('issuing is served by the process that runs, restarts nothing and keeps the connection', async () => {
      const { first } = subject();
      const ca = caOf(await change('talos'));

      // Over one connection, which began under the old certificate.
      expect(await effect(['talos'], 'Issuing', TALOS_ONLY, 5_000)).toEqual(TALOS_ONLY);

      expect(await root()).toEqual({
        issuing: prints([ca.new.certificate]),
        accepted: prints([ca.old.certificate, ca.new.certificate]),
      });
      await until('apid serves a leaf of the new CA', 60_000, async () =>
        signedBy((await enter(await admin(ca.new))).chain[0], ca.new),
      );
      expect(signedBy((await apid())?.client?.certificates[0], ca.new)).toBe(true);
      // We trust the old one alone: our open connection works, a new one is refused by us.
      expect(await failureOf(first.version({ fresh: true }))).toMatchObject({
        kind: 'untrusted-server',
        outcome: 'not-done',
      });
      expect((await first.version()).rbac).toBe(true);
      first.use({ trust: [ca.old.certificate, ca.new.certificate], credentials: await admin(ca.new) });
      expect((await first.version()).rbac).toBe(true);
    });

    it('dropped refuses its clients at the next connection, also in the eyes of a negative probe', async () => {
      const { first } = subject();
      const ca = caOf(await change('talos'));

      expect(await effect(['talos'], 'Dropping', TALOS_ONLY, 5_000)).toEqual(TALOS_ONLY);

      const proof = await eventually('clients of the old CA are refused', 60_000, async () => {
        const found = await proveRefused({
          host: first.address,
          port: 50_000,
          trust: [ca.new.certificate],
          credentials: await admin(ca.old),
          control: await admin(ca.new),
        });
        return found.refused ? found : undefined;
      });
      expect(proof.probe).toMatchObject({ verdict: 'untrusted-client', reason: 'unknown-authority' });
      first.use({ trust: [ca.new.certificate], credentials: await admin(ca.old) });
      expect(await failureOf(first.version())).toMatchObject({ kind: 'untrusted-client', outcome: 'not-done' });
      first.use({ trust: [ca.new.certificate], credentials: await admin(ca.new) });
      expect((await first.version()).rbac).toBe(true);
    });
  });
}

function withoutKey(pem: Buffer): string {
  return pem
    .toString()
    .replaceAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----\n?/g, '');
}

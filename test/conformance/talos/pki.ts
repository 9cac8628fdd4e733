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

export async function bring(machine: TalosMachine, change: Change, stage: RenderStage): Promise<void> {
  const { tag } = await machine.version();
  await changeConfig(machine, (config) => renderStage(config, [change], stage, { talosVersion: tag }));
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
  const effect = async (kind: ChangeKind, stage: RenderStage, expected: readonly string[], quietMs = POD_QUIET_MS) => {
    const made = await change(kind);
    const { first } = subject();
    return effectOf(first, PKI_KINDS, { act: () => bring(first, made, stage), expected, quietMs });
  };

  describe('the aggregator CA', PATIENT, () => {
    const leaf = async () =>
      (await subject().first.get(KUBERNETES_DYNAMIC_CERTIFICATES))?.spec.frontProxy?.certificates[0];
    const accepted = async () => prints((await subject().first.get(KUBERNETES_ROOT))?.spec.acceptedAggregator);

    it('accepted beside the old one restarts the three static pods and leaves the kubelet alone', async () => {
      const ca = caOf(await change('kubernetes-aggregator'));

      expect(await effect('kubernetes-aggregator', 'Accepting', PODS_ONLY)).toEqual(PODS_ONLY);
      expect(await accepted()).toEqual(prints([ca.old.certificate, ca.new.certificate]));
      expect(signedBy(await leaf(), ca.old)).toBe(true);
    });

    it('issuing signs the front-proxy client of the API server', async () => {
      const ca = caOf(await change('kubernetes-aggregator'));

      expect(await effect('kubernetes-aggregator', 'Issuing', PODS_ONLY)).toEqual(PODS_ONLY);
      expect(await accepted()).toEqual(prints([ca.new.certificate, ca.old.certificate]));
      expect(signedBy(await leaf(), ca.new)).toBe(true);
    });

    it('dropped is gone from the list', async () => {
      const ca = caOf(await change('kubernetes-aggregator'));

      expect(await effect('kubernetes-aggregator', 'Dropping', PODS_ONLY)).toEqual(PODS_ONLY);
      expect(await accepted()).toEqual(prints([ca.new.certificate]));
    });
  });

  describe('the service-account key', PATIENT, () => {
    const keys = async () => {
      const root = (await subject().first.get(KUBERNETES_ROOT))?.spec;
      return { signs: root?.serviceAccountKey, accepted: root?.acceptedServiceAccountKeys };
    };
    const made = async () => {
      const found = await change('service-account');
      if (found.target !== 'service-account') throw new Error('not a service-account change');
      return found;
    };

    it.each<RenderStage>(['Accepting', 'Issuing', 'Dropping'])(
      'in stage %s restarts the three static pods',
      async (stage) => {
        const { old, new: incoming } = await made();

        expect(await effect('service-account', stage, PODS_ONLY)).toEqual(PODS_ONLY);

        const { signs, accepted } = await keys();
        expect(signs).toBe(stage === 'Accepting' ? old.fingerprint : incoming.fingerprint);
        expect(accepted?.includes(incoming.fingerprint)).toBe(true);
        expect(accepted?.includes(old.fingerprint)).toBe(stage !== 'Dropping');
      },
    );
  });

  describe('the encryption key', PATIENT, () => {
    it.each<[RenderStage, string[]]>([
      ['Accepting', ['key2', 'key3']],
      ['Issuing', ['key3', 'key2']],
    ])('in stage %s restarts the three static pods, with the keys in that order', async (stage, names) => {
      expect(await effect('etcd-encryption', stage, PODS_ONLY)).toEqual(PODS_ONLY);

      const rules = (await subject().first.get(KUBERNETES_ROOT))?.spec.encryption ?? [];
      const keys = rules.flatMap((rule) => rule.keys).filter(({ provider }) => provider === 'secretbox');
      expect(keys.map(({ name }) => name)).toEqual(names);
    });
  });

  describe('the Kubernetes CA', PATIENT, () => {
    const kubeletClient = async () => parseCertificates(withoutKey(await subject().first.readFile(KUBELET_CLIENT)))[0];
    const served = async () => {
      const { first, target } = subject();
      const ca = caOf(await change('kubernetes'));
      const trust = [ca.old.certificate, ca.new.certificate];
      const probe = await probeTls({ host: first.address, port: 6443, trust, credentials: target.credentials });
      return probe.chain;
    };
    /** Three facts of one stage: who signed what the API server serves, and what the kubelet shows and trusts. */
    const facts = async () => {
      const { first } = subject();
      const ca = caOf(await change('kubernetes'));
      const byWhom = (leaf: Certificate | undefined) =>
        signedBy(leaf, ca.old) ? 'old' : signedBy(leaf, ca.new) ? 'new' : 'other';
      const name = (print: string) =>
        print === ca.old.certificate.fingerprint ? 'old' : print === ca.new.certificate.fingerprint ? 'new' : 'other';
      const dynamic = (await first.get(KUBERNETES_DYNAMIC_CERTIFICATES))?.spec;
      const leafOf = (pair: CertificatesOfKey | undefined) => pair?.certificates[0];
      const chain = await served();
      return {
        apiServerServes: byWhom(chain[0]),
        behindItsLeaf: prints(chain)?.slice(1).map(name),
        apiServerShowsKubelets: byWhom(leafOf(dynamic?.kubeletClient)),
        kubeletShows: byWhom(await kubeletClient()),
        kubeletTrusts: prints((await first.get(KUBELET_SECRETS))?.spec.accepted)?.map(name),
      };
    };

    it('accepted beside the old one restarts the kubelet and the static pods; all leaves stay with the old one', async () => {
      const before = await subject().first.readFile(KUBELET_CLIENT);

      expect(await effect('kubernetes', 'Accepting', PODS_AND_KUBELET)).toEqual(PODS_AND_KUBELET);
      expect(await facts()).toEqual({
        apiServerServes: 'old',
        behindItsLeaf: ['old'],
        apiServerShowsKubelets: 'old',
        kubeletShows: 'old',
        kubeletTrusts: ['old', 'new'],
      });
      expect((await subject().first.readFile(KUBELET_CLIENT)).equals(before)).toBe(true);
    });

    it('issuing re-issues what the API server serves and shows; the kubelet keeps its old client certificate', async () => {
      const before = await subject().first.readFile(KUBELET_CLIENT);

      expect(await effect('kubernetes', 'Issuing', PODS_AND_KUBELET)).toEqual(PODS_AND_KUBELET);
      expect(await facts()).toEqual({
        apiServerServes: 'new',
        behindItsLeaf: ['new'],
        apiServerShowsKubelets: 'new',
        kubeletShows: 'old',
        kubeletTrusts: ['new', 'old'],
      });
      expect((await subject().first.readFile(KUBELET_CLIENT)).equals(before)).toBe(true);
    });

    it('dropping the old one takes the kubelet’s old client certificate away, and it gets a new one', async () => {
      expect(await effect('kubernetes', 'Dropping', PODS_AND_KUBELET)).toEqual(PODS_AND_KUBELET);

      await until('the kubelet has a certificate by the new CA', 600_000, async () =>
        signedBy(await kubeletClient(), caOf(await change('kubernetes')).new),
      );
      expect(await facts()).toEqual({
        apiServerServes: 'new',
        behindItsLeaf: ['new'],
        apiServerShowsKubelets: 'new',
        kubeletShows: 'new',
        kubeletTrusts: ['new'],
      });
    });

    it('of a kubeconfig issued now is the new one alone', async () => {
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

      expect(await effect('talos', 'Accepting', TALOS_ONLY, 5_000)).toEqual(TALOS_ONLY);

      expect(await root()).toEqual({
        issuing: prints([ca.old.certificate]),
        accepted: prints([ca.new.certificate, ca.old.certificate]),
      });
      expect((await enter(await admin(ca.new))).verdict).toBe('accepted');
      expect((await enter(await admin(ca.old))).verdict).toBe('accepted');
    });

    it('issuing is served within seconds, restarts nothing and keeps the connection', async () => {
      const { first } = subject();
      const ca = caOf(await change('talos'));

      // Over one connection, which began under the old certificate.
      expect(await effect('talos', 'Issuing', TALOS_ONLY, 5_000)).toEqual(TALOS_ONLY);

      expect(await root()).toEqual({
        issuing: prints([ca.new.certificate]),
        accepted: prints([ca.old.certificate, ca.new.certificate]),
      });
      await until('apid serves a leaf of the new CA', 10_000, async () =>
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

      expect(await effect('talos', 'Dropping', TALOS_ONLY, 5_000)).toEqual(TALOS_ONLY);

      const proof = await eventually('clients of the old CA are refused', 10_000, async () => {
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

import { beforeAll, describe, expect, it } from 'vitest';
import type { Change } from '../../../pkg/machineconfig/index.ts';
import { type CertificateAndKey, etcdClientProfile, issueLeaf } from '../../../pkg/pki/index.ts';
import { ETCD_CERTIFICATES, ETCD_ROOT, probeTls, proveRefused, type TalosMachine } from '../../../pkg/talos/index.ts';
import { ALWAYS, ETCD_CHAIN, PKI_KINDS } from './kinds.ts';
import { changeOf } from './material.ts';
import { bring, caOf, prints, signedBy } from './staging.ts';
import { effectOf, PATIENT, until } from './subject.ts';
import type { Subject } from './target.ts';

const CLIENT_PORT = 2379;
const PEER_PORT = 2380;
/** Longer than the 20 s in which a kubelet would find a changed static pod. */
const POD_QUIET_MS = 25_000;
const ETCD_ONLY = [...ETCD_CHAIN, ...ALWAYS].sort();
const ETCD_TRUST_FILE = '/system/secrets/etcd/ca.crt';
const API_SERVER_TRUST_FILE = '/system/secrets/kubernetes/kube-apiserver/etcd-client-ca.crt';

/**
 * The etcd CA through a bundle: both CAs in `cluster.etcd.ca`, with a reboot of
 * every control plane after the first and after the last change. Leaves the cluster
 * on a new etcd CA.
 */
export function etcdCaConformance(subject: () => Subject): void {
  describe('the etcd CA', PATIENT, () => {
    let change: Change;
    let ca: { old: CertificateAndKey; new: CertificateAndKey };
    let asOld: CertificateAndKey;
    let asNew: CertificateAndKey;

    beforeAll(async () => {
      change = await changeOf('etcd', subject().target.bundle);
      ca = caOf(change);
      asOld = await issueLeaf(ca.old, etcdClientProfile({ now: Date.now() }));
      asNew = await issueLeaf(ca.new, etcdClientProfile({ now: Date.now() }));
    });

    const probe = (machine: TalosMachine, port: number, credentials: CertificateAndKey) =>
      probeTls({ host: machine.address, port, trust: [ca.old.certificate, ca.new.certificate], credentials });
    const root = async (machine: TalosMachine) => {
      const found = (await machine.get(ETCD_ROOT))?.spec.ca;
      return { certificates: prints(found?.certificates), key: found?.keyFingerprint };
    };
    /** Waits until both ports serve a leaf by that CA, and says that this leaf is the one in COSI. */
    const serves = async (machine: TalosMachine, signer: CertificateAndKey) => {
      await until(`etcd of ${machine.name} serves leaves of the CA on both ports`, 120_000, async () => {
        const leaves = (await machine.get(ETCD_CERTIFICATES))?.spec;
        const [client, peer] = await Promise.all([
          probe(machine, CLIENT_PORT, asOld),
          probe(machine, PEER_PORT, asOld),
        ]);
        return (
          signedBy(client.chain[0], signer) &&
          signedBy(peer.chain[0], signer) &&
          client.chain[0]?.fingerprint === leaves?.server?.certificates[0]?.fingerprint &&
          peer.chain[0]?.fingerprint === leaves?.peer?.certificates[0]?.fingerprint
        );
      });
    };
    const trustFiles = (machine: TalosMachine) =>
      Promise.all(
        [ETCD_TRUST_FILE, API_SERVER_TRUST_FILE].map(async (path) => (await machine.readFile(path)).toString()),
      );

    it('old then new with the old key: leaves are re-issued by the old one, files hold both, nothing restarts', async () => {
      const both = ca.old.certificate.pem + ca.new.certificate.pem;
      for (const machine of subject().controlPlanes) {
        const effects = await effectOf(machine, PKI_KINDS, {
          act: () => bring(machine, change, 'Accepting'),
          expected: ETCD_ONLY,
          quietMs: machine === subject().first ? POD_QUIET_MS : 2_000,
        });

        expect(effects).toEqual(ETCD_ONLY);
        expect(await root(machine)).toEqual({
          certificates: prints([ca.old.certificate, ca.new.certificate]),
          key: ca.old.certificate.publicKeyFingerprint,
        });
        await serves(machine, ca.old);
        expect(await trustFiles(machine)).toEqual([both, both]);
      }
    });

    it('the running etcd still refuses clients of the new CA: its trust is read at its start only', async () => {
      const found = await probe(subject().first, CLIENT_PORT, asNew);

      expect(found).toMatchObject({ verdict: 'untrusted-client' });
    });

    it('a roll makes every etcd accept clients of both', async () => {
      await roll(subject().controlPlanes);

      for (const machine of subject().controlPlanes) {
        expect((await probe(machine, CLIENT_PORT, asOld)).verdict).toBe('accepted');
        expect((await probe(machine, CLIENT_PORT, asNew)).verdict).toBe('accepted');
      }
    });

    it('new then old with the new key: the new leaf is served on both ports without a reboot, and etcd stays whole', async () => {
      for (const machine of subject().controlPlanes) {
        const effects = await effectOf(machine, PKI_KINDS, {
          act: () => bring(machine, change, 'Issuing'),
          expected: ETCD_ONLY,
          quietMs: machine === subject().first ? POD_QUIET_MS : 2_000,
        });

        expect(effects).toEqual(ETCD_ONLY);
        await serves(machine, ca.new);
        await etcdWhole(subject().controlPlanes);
      }
      for (const machine of subject().controlPlanes) {
        expect((await probe(machine, CLIENT_PORT, asOld)).verdict).toBe('accepted');
        expect((await probe(machine, CLIENT_PORT, asNew)).verdict).toBe('accepted');
      }
    });

    it('new alone: clients of the old one are accepted until etcd starts again', async () => {
      for (const machine of subject().controlPlanes) {
        const effects = await effectOf(machine, PKI_KINDS, {
          act: () => bring(machine, change, 'Dropping'),
          expected: ETCD_ONLY,
          quietMs: 2_000,
        });

        expect(effects).toEqual(ETCD_ONLY);
        expect((await probe(machine, CLIENT_PORT, asOld)).verdict).toBe('accepted');
      }
    });

    it('a second roll makes every etcd refuse clients of the old one', async () => {
      await roll(subject().controlPlanes);

      for (const machine of subject().controlPlanes) {
        const proof = await proveRefused({
          host: machine.address,
          port: CLIENT_PORT,
          trust: [ca.new.certificate],
          credentials: asOld,
          control: asNew,
        });
        expect(proof).toMatchObject({ refused: true, probe: { verdict: 'untrusted-client' } });
        expect(await trustFiles(machine)).toEqual([ca.new.certificate.pem, ca.new.certificate.pem]);
      }
      await etcdWhole(subject().controlPlanes);
    });
  });
}

/** Reboots one after the other, each when the ones before are back and etcd is whole. */
async function roll(machines: readonly TalosMachine[]): Promise<void> {
  for (const machine of machines) {
    const before = await machine.bootId();
    await machine.reboot('DEFAULT');
    await until(
      `${machine.name} has another boot ID`,
      600_000,
      async () => (await machine.bootId({ fresh: true })) !== before,
    );
    await etcdWhole(machines);
  }
}

/** Every etcd says, over a connection of its own, that it follows the one leader and has every member. */
async function etcdWhole(machines: readonly TalosMachine[]): Promise<void> {
  await until('etcd is whole', 600_000, async () => {
    const statuses = await Promise.all(
      machines.map((machine) => machine.etcd.status({ fresh: true, deadlineMs: 5_000 })),
    );
    const members = await Promise.all(machines.map((machine) => machine.etcd.members({ deadlineMs: 5_000 })));
    const services = await Promise.all(machines.map((machine) => machine.services()));
    return (
      new Set(statuses.map(({ leader }) => leader)).size === 1 &&
      statuses[0]?.leader !== undefined &&
      statuses.every(({ errors }) => errors.length === 0) &&
      members.every((list) => list.length === machines.length && list.every(({ learner }) => !learner)) &&
      services.every((list) => list.some(({ id, healthy }) => id === 'etcd' && healthy === true))
    );
  });
}

import { describe, expect, it } from 'vitest';
import type { Change } from '../../../pkg/machineconfig/index.ts';
import { API_CERTIFICATES, KUBELET_SECRETS, OS_ROOT, type TalosMachine } from '../../../pkg/talos/index.ts';
import { ALWAYS, KUBELET_CLIENT, PKI_KINDS } from './kinds.ts';
import { changeOf } from './material.ts';
import { bring, caOf, prints, signedBy } from './staging.ts';
import { effectOf, PATIENT, until } from './subject.ts';
import type { Subject } from './target.ts';

const KUBELET_ONLY = ['KubeletSecrets', ...ALWAYS, 'service:kubelet'];

/** What a worker does when CAs change, and from whom it takes what. Leaves old CAs accepted beside new ones. */
export function workerPkiConformance(subject: () => Subject): void {
  const worker = (): TalosMachine => {
    const [found] = subject().workers;
    if (found === undefined) throw new Error('this suite needs a worker');
    return found;
  };

  describe('a worker accepting a Kubernetes CA', PATIENT, () => {
    let change: Change;

    it('restarts its kubelet and nothing else', async () => {
      change = await changeOf('kubernetes', subject().target.bundle);
      const ca = caOf(change);

      const effects = await effectOf(worker(), PKI_KINDS, {
        act: () => bring(worker(), change, 'Accepting'),
        expected: KUBELET_ONLY,
        quietMs: 5_000,
      });

      expect(effects).toEqual(KUBELET_ONLY);
      const trusted = (await worker().get(KUBELET_SECRETS))?.spec.accepted;
      expect(prints(trusted)).toEqual(prints([ca.old.certificate, ca.new.certificate]));
    });

    it('restarts it again for another order alone, and the kubelet keeps its client certificate', async () => {
      const ca = caOf(change);
      const shown = await worker().readFile(KUBELET_CLIENT);

      const effects = await effectOf(worker(), PKI_KINDS, {
        act: () => bring(worker(), change, 'Issuing'),
        expected: KUBELET_ONLY,
        quietMs: 5_000,
      });

      expect(effects).toEqual(KUBELET_ONLY);
      const trusted = (await worker().get(KUBELET_SECRETS))?.spec.accepted;
      expect(prints(trusted)).toEqual(prints([ca.new.certificate, ca.old.certificate]));
      expect((await worker().readFile(KUBELET_CLIENT)).equals(shown)).toBe(true);
    });
  });

  describe('a worker accepting a Talos CA', PATIENT, () => {
    let change: Change;
    const accepted = async () => prints((await worker().get(API_CERTIFICATES))?.spec.accepted);

    it('takes clients by the list of the control plane that signed for it, not by its own', async () => {
      change = await changeOf('talos', subject().target.bundle);
      const ca = caOf(change);

      const before = (await worker().get(API_CERTIFICATES))?.metadata.version;
      await bring(worker(), change, 'Accepting');
      await until('its own list holds both', 120_000, async () => {
        const own = prints((await worker().get(OS_ROOT))?.spec.accepted);
        return String(own) === String(prints([ca.new.certificate, ca.old.certificate]));
      });
      await until('it has asked a control plane for another leaf', 120_000, async () => {
        return (await worker().get(API_CERTIFICATES))?.metadata.version !== before;
      });
      // No control plane accepts the new CA yet.
      expect(await accepted()).toEqual(prints([ca.old.certificate]));
    });

    it('takes the new one when the control planes have it and it asks again', async () => {
      const ca = caOf(change);
      for (const machine of subject().controlPlanes) await bring(machine, change, 'Accepting');
      const { config } = await worker().configuration('active');
      // Only another input makes it ask before half a day has passed.
      await bring(worker(), change, 'Issuing');
      await until('apid of the worker accepts both', 120_000, async () => {
        const list = (await accepted()) ?? [];
        return list.includes(ca.new.certificate.fingerprint) && list.includes(ca.old.certificate.fingerprint);
      });

      // Control planes still sign with the old CA.
      const leaf = (await worker().get(API_CERTIFICATES))?.spec.server?.certificates[0];
      expect(signedBy(leaf, ca.old)).toBe(true);
      await worker().apply({ config, mode: 'NO_REBOOT' });
    });
  });
}

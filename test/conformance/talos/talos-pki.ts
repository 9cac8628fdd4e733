import { describe, expect, it } from 'vitest';
import { type CertificateAndKey, issueLeaf, talosAdminProfile } from '../../../pkg/pki/index.ts';
import { API_CERTIFICATES, OS_ROOT, probeTls, proveRefused } from '../../../pkg/talos/index.ts';
import { ALWAYS, TALOS_CHAIN } from './kinds.ts';
import { caOf, prints, type StagedChanges, signedBy } from './staging.ts';
import { eventually, failureOf, PATIENT, until } from './subject.ts';
import type { Subject } from './target.ts';

const TALOS_ONLY = [...TALOS_CHAIN, ...ALWAYS].sort();
const AT_ONCE = { expected: TALOS_ONLY, quietMs: 5_000 };

/** The Talos CA of one control plane through its stages. Afterwards the target's own credentials are refused. */
export function talosPkiConformance(subject: () => Subject, changes: StagedChanges): void {
  describe('the Talos CA', PATIENT, () => {
    const admin = (ca: CertificateAndKey) => issueLeaf(ca, talosAdminProfile({ now: Date.now() }));
    const root = async () => {
      const spec = (await subject().first.get(OS_ROOT))?.spec;
      return { issuing: prints(spec?.issuing?.certificates), accepted: prints(spec?.accepted) };
    };
    const apid = async () => (await subject().first.get(API_CERTIFICATES))?.spec;
    const enter = async (credentials: CertificateAndKey) => {
      const { first } = subject();
      const ca = caOf(await changes.change('talos'));
      const trust = [ca.old.certificate, ca.new.certificate];
      return probeTls({ host: first.address, port: 50_000, trust, credentials });
    };

    it('accepted beside the old one takes clients of both, restarts nothing and keeps the connection', async () => {
      const ca = caOf(await changes.change('talos'));
      expect(await enter(await admin(ca.new))).toMatchObject({
        verdict: 'untrusted-client',
        reason: 'unknown-authority',
      });

      expect(await changes.effect(['talos'], 'Accepting', AT_ONCE)).toEqual(TALOS_ONLY);

      expect(await root()).toEqual({
        issuing: prints([ca.old.certificate]),
        accepted: prints([ca.new.certificate, ca.old.certificate]),
      });
      expect((await enter(await admin(ca.new))).verdict).toBe('accepted');
      expect((await enter(await admin(ca.old))).verdict).toBe('accepted');
    });

    it('issuing is served by the process that runs, restarts nothing and keeps the connection', async () => {
      const { first } = subject();
      const ca = caOf(await changes.change('talos'));

      // Over one connection, which began under the old certificate.
      expect(await changes.effect(['talos'], 'Issuing', AT_ONCE)).toEqual(TALOS_ONLY);

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
      const ca = caOf(await changes.change('talos'));

      expect(await changes.effect(['talos'], 'Dropping', AT_ONCE)).toEqual(TALOS_ONLY);

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

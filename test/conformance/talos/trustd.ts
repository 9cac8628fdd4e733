import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { probeTls } from '../../../pkg/talos/index.ts';
import { TALOS_CHAIN } from './kinds.ts';
import { seeRow } from './rows.ts';
import { prints, signedBy } from './staging.ts';
import { PATIENT } from './subject.ts';
import type { Subject } from './target.ts';
import { askTrustd } from './trustd-client.ts';

/** Who may have a leaf of the Talos CA, and what another token moves. Leaves the machine as it was. */
export function trustdConformance(subject: () => Subject): void {
  describe('trustd', PATIENT, () => {
    const ask = (token: string) => {
      const { first, target } = subject();
      return askTrustd({ host: first.address, trust: [target.bundle.talos.certificate], token });
    };
    const served = async (port: number) => {
      const { first, target } = subject();
      const trust = [target.bundle.talos.certificate];
      const { chain } = await probeTls({ host: first.address, port, trust, credentials: target.credentials });
      return chain[0];
    };

    it('signs for who has the token: a leaf for servers, without the organization that was asked for', async () => {
      const { bundle } = subject().target;

      const answer = await ask(bundle.trustdToken.expose());

      expect(signedBy(answer.leaf, bundle.talos)).toBe(true);
      expect(answer.leaf.subject).toBe('CN=worker');
      expect(prints(answer.accepted)).toEqual(prints([bundle.talos.certificate]));
    });

    it('refuses another token', async () => {
      await expect(ask('wrongg.0123456789abcdef')).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    });

    it('takes another token of the configuration at once; leaves are re-issued by the same CA, nothing restarts', async () => {
      const { first, target } = subject();
      const old = target.bundle.trustdToken.expose();
      const before = await Promise.all([served(50_000), served(50_001)]);

      await seeRow(first, {
        edit: ({ main }) => main.setIn(['machine', 'token'], 'second.0123456789abcdef'),
        moves: TALOS_CHAIN,
        look: async () => {
          await expect(ask(old)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
          expect(signedBy((await ask('second.0123456789abcdef')).leaf, target.bundle.talos)).toBe(true);
          const after = await Promise.all([served(50_000), served(50_001)]);
          for (const [index, leaf] of after.entries()) {
            expect(leaf?.fingerprint).not.toBe(before[index]?.fingerprint);
            expect(signedBy(leaf, target.bundle.talos)).toBe(true);
          }
        },
      });
      expect(signedBy((await ask(old)).leaf, target.bundle.talos)).toBe(true);
    });
  });
}

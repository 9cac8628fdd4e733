import { describe, expect, it } from 'vitest';
import type { Clock } from '../../pkg/clock/index.ts';
import type { CertificateAndKey } from '../../pkg/pki/index.ts';
import { aBundleDocument } from '../../test/builders/bundle.ts';
import { aCa, MADE_AT } from '../../test/builders/certificates.ts';
import { createIdentities } from './identities.ts';
import type { ClusterState } from './ports.ts';

const DAY_MS = 86_400_000;

/** Who issued what we show to machines, first choice first, where the bundle holds one Talos CA and the record another. */
async function issuers(old: CertificateAndKey, next?: CertificateAndKey) {
  const { bundle } = await aBundleDocument();
  const record = next === undefined ? undefined : { targets: { talos: next } };
  const state = { bundle: { ...bundle, talos: old }, previous: undefined, record } as unknown as ClusterState;
  const identities = createIdentities({ now: () => MADE_AT } as Clock);
  const made = await identities.talos(state, true);
  return made.map(({ credentials, trust }) => ({
    issuer: credentials.certificate.issuer,
    trusts: trust.map(({ fingerprint }) => fingerprint),
  }));
}

describe('who we are towards machines', () => {
  it('goes on with the new CA where the old one has expired on the way', async () => {
    const expired = await aCa('talos', { now: MADE_AT - 20 * 365 * DAY_MS });
    const next = await aCa('talos');

    expect(await issuers(expired, next)).toEqual([
      {
        issuer: next.certificate.subject,
        trusts: [expired.certificate.fingerprint, next.certificate.fingerprint],
      },
    ]);
  });

  it('is of both while both can sign, the new one first', async () => {
    const [old, next] = await Promise.all([aCa('talos'), aCa('talos')]);

    expect(await issuers(old, next)).toHaveLength(2);
  });

  it('is issued anew where the clock that issued it has been set back: machines would not take it yet', async () => {
    const { bundle } = await aBundleDocument();
    const state = { bundle: { ...bundle, talos: await aCa('talos') }, previous: undefined, record: undefined };
    let now = MADE_AT + 7_200_000;
    const identities = createIdentities({ now: () => now } as Clock);
    const leafAt = async (at: number) => {
      now = at;
      const [identity] = await identities.talos(state as unknown as ClusterState, false);
      return identity?.credentials.certificate;
    };

    const ahead = await leafAt(MADE_AT + 7_200_000);
    const corrected = await leafAt(MADE_AT);

    expect(ahead?.notBefore).toBeGreaterThan(MADE_AT);
    expect(corrected?.notBefore).toBeLessThan(MADE_AT);
    expect(await leafAt(MADE_AT + 60_000)).toBe(corrected);
    expect(await leafAt(MADE_AT + 12 * 3_600_000)).not.toBe(corrected);
  });

  it('says what is wrong with the only CA that there is', async () => {
    const expired = await aCa('talos', { now: MADE_AT - 20 * 365 * DAY_MS });

    await expect(issuers(expired)).rejects.toThrow(/nothing was signed: the signing CA \([0-9a-f]{64}\) expired at/);
  });
});

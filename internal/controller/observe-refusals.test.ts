import { describe, expect, it } from 'vitest';
import { type CertificateAndKey, issueLeaf } from '../../pkg/pki/index.ts';
import type { TlsProbe } from '../../pkg/talos/index.ts';
import { aBundleDocument } from '../../test/builders/bundle.ts';
import { aCa, anOddCertificate, MADE_AT } from '../../test/builders/certificates.ts';
import type { RefusalProof } from '../rotation/observation.ts';
import type { IssueLeaf } from './identities.ts';
import { observeRefusals, type RefusalInput } from './observe-refusals.ts';
import type { HttpsOutcome } from './ports.ts';

/** What apid (50000) and trustd (50001) of one control plane say to the old Talos CA. */
async function said(
  found: { apid?: Partial<TlsProbe>; trustd?: Partial<TlsProbe> },
  old?: CertificateAndKey,
  issue?: IssueLeaf,
) {
  const { bundle } = await aBundleDocument();
  const ca = old ?? (await aCa('talos'));
  const next = await aCa('talos');
  const probe = async ({ port }: { readonly port: number }): Promise<TlsProbe> => ({
    ...(port === 50_000
      ? { verdict: 'untrusted-client', reason: 'unknown-authority', detail: 'tlsv1 alert unknown ca' }
      : { verdict: 'untrusted-server', reason: 'unknown-authority', detail: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' }),
    chain: [],
    tookMs: 1,
    ...(port === 50_000 ? found.apid : found.trustd),
  });
  const proofs = await observeRefusals({
    connections: { probeTls: probe },
    clock: { now: () => MADE_AT },
    state: {
      bundle: { ...bundle, talos: next },
      previous: { ...bundle, talos: ca },
      record: { targets: { talos: next } },
    },
    machines: [{ name: 'cp1', address: '10.0.0.1', role: 'controlplane' }],
    issueLeaf: issue ?? (async () => ca),
  } as unknown as RefusalInput);
  return proofs.map(({ outcome, message }) => `${outcome}: ${message}`);
}

describe('the proof that old credentials are refused', () => {
  it.each<[string, () => Promise<CertificateAndKey>]>([
    ['has expired', () => aCa('talos', { now: MADE_AT - 20 * 365 * 86_400_000 })],
    ['is no root', () => anOddCertificate({ issuer: 'CN=somebody else', isCa: true })],
  ])('is made of an old CA that %s as well', async (_what, make) => {
    const old = await make();

    expect(await said({}, old, issueLeaf)).toEqual([
      'refused: tlsv1 alert unknown ca',
      'refused: UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    ]);
  });
});

describe('what became of an old credential', () => {
  it('is refused where neither side knows the CA any more', async () => {
    expect(await said({})).toEqual(['refused: tlsv1 alert unknown ca', 'refused: UNABLE_TO_GET_ISSUER_CERT_LOCALLY']);
  });

  it.each(['expired', 'not-yet-valid'] as const)(
    'is not known where it is refused for its time (%s): a clock is wrong, and the CA may be trusted',
    async (reason) => {
      const [apid, trustd] = await said({
        apid: { reason, detail: 'tlsv1 alert certificate expired' },
        trustd: { reason, detail: 'CERT_NOT_YET_VALID' },
      });

      expect(apid).toBe('unknown: untrusted-client: tlsv1 alert certificate expired');
      expect(trustd).toBe('unknown: untrusted-server: CERT_NOT_YET_VALID');
    },
  );

  it('is refused for its time where the old CA itself is out of its time: nobody can use it', async () => {
    const expired = await aCa('talos', { now: MADE_AT - 20 * 365 * 86_400_000 });

    expect(await said({ apid: { reason: 'expired', detail: 'alert certificate expired' } }, expired)).toEqual([
      'refused: alert certificate expired',
      'refused: UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    ]);
  });

  it('is accepted where trustd serves a certificate of the old CA for another name', async () => {
    const [, trustd] = await said({ trustd: { reason: 'wrong-name', detail: 'ERR_TLS_CERT_ALTNAME_INVALID' } });

    expect(trustd).toBe('accepted: it serves a certificate of the old CA (ERR_TLS_CERT_ALTNAME_INVALID)');
  });
});

/** What a kubelet's port says to the old Kubernetes CA, of one worker. */
async function kubeletSaid(outcome: HttpsOutcome): Promise<RefusalProof | undefined> {
  const { bundle } = await aBundleDocument();
  const [old, next] = [await aCa('kubernetes'), await aCa('kubernetes')];
  const [proof] = await observeRefusals({
    connections: { probeHttps: async () => outcome },
    clock: { now: () => MADE_AT },
    state: {
      bundle: { ...bundle, kubernetes: next },
      previous: { ...bundle, kubernetes: old },
      record: { targets: { kubernetes: next } },
    },
    machines: [{ name: 'w1', address: '10.0.0.9', role: 'worker' }],
    issueLeaf: async () => old,
  } as unknown as RefusalInput);
  return proof;
}

describe('what Kubernetes answers to an old credential', () => {
  it.each<[number, RefusalProof['outcome']]>([
    [200, 'accepted'],
    [403, 'accepted'],
    [404, 'accepted'],
    [401, 'refused'],
    [429, 'unknown'],
    [500, 'unknown'],
    [503, 'unknown'],
  ])('HTTP %i: %s', async (status, outcome) => {
    expect(await kubeletSaid({ kind: 'answered', status })).toEqual({
      what: 'old client certificate at kubelet of w1 (10.0.0.9:10250)',
      outcome,
      message: `HTTP ${status}`,
    });
  });

  it('is not known where the handshake fails for a reason of its own', async () => {
    expect(await kubeletSaid({ kind: 'failed', message: 'tlsv1 alert internal error' })).toMatchObject({
      outcome: 'unknown',
      message: 'tlsv1 alert internal error',
    });
  });
});

describe('where old credentials for the Kubernetes API are tried', () => {
  async function tried(apiServerPort: number | undefined) {
    const { bundle } = await aBundleDocument();
    const [ca, next] = [await aCa('kubernetes'), await aCa('kubernetes')];
    const asked: number[] = [];
    const probeHttps = async ({ port }: { readonly port: number }) => {
      asked.push(port);
      return { kind: 'answered', status: 401 };
    };
    const proofs = await observeRefusals({
      connections: { probeHttps },
      clock: { now: () => MADE_AT },
      state: {
        bundle: { ...bundle, kubernetes: next },
        previous: { ...bundle, kubernetes: ca },
        record: { targets: { kubernetes: next } },
      },
      machines: [{ name: 'cp1', address: '10.0.0.1', role: 'controlplane', apiServerPort }],
      issueLeaf: async () => ca,
    } as unknown as RefusalInput);
    return { asked, said: proofs.map(({ what, outcome, message }) => `${what}: ${outcome}: ${message}`) };
  }

  it('is where the configuration of the machine has its API server', async () => {
    expect(await tried(7443)).toEqual({
      asked: [7443, 10_250],
      said: [
        'old client certificate at kube-apiserver of cp1 (10.0.0.1:7443): refused: HTTP 401',
        'old client certificate at kubelet of cp1 (10.0.0.1:10250): refused: HTTP 401',
      ],
    });
  });

  it('is nowhere while that configuration was not read: the answer of another port proves nothing', async () => {
    expect(await tried(undefined)).toEqual({
      asked: [10_250],
      said: [
        'old client certificate at kube-apiserver of cp1 (10.0.0.1): unknown: its configuration could not be read, so the port is not known',
        'old client certificate at kubelet of cp1 (10.0.0.1:10250): refused: HTTP 401',
      ],
    });
  });
});

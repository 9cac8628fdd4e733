import { describe, expect, it } from 'vitest';
import { issueLeaf } from '../../pkg/pki/index.ts';
import { aCa, MADE_AT } from '../../test/builders/certificates.ts';
import { kubeletsSignedBy } from './kubelet-serving.ts';
import type { Connections } from './ports.ts';

describe('kubelets that serve a certificate of the Kubernetes CA', () => {
  it('are told from those that made their own, and from those that nobody reaches', async () => {
    const [ca, other] = [await aCa('kubernetes'), await aCa('kubernetes')];
    const leafBy = async (issuer: typeof ca) =>
      (await issueLeaf(issuer, { subject: { cn: 'system:node:w' }, usages: ['server'], now: MADE_AT })).certificate;
    const serves = { '10.0.0.1': [await leafBy(ca)], '10.0.0.2': [await leafBy(other)], '10.0.0.3': [] };
    const asked: unknown[] = [];
    const probeTls = (async ({ host, port, credentials, trust }) => {
      asked.push([port, credentials, trust]);
      return { verdict: 'untrusted-server', detail: '', chain: serves[host as keyof typeof serves], tookMs: 1 };
    }) as Connections['probeTls'];
    const machines = Object.keys(serves).map((address) => ({ name: `w${address.at(-1)}`, address }));

    expect(await kubeletsSignedBy(ca.certificate, { connections: { probeTls }, machines })).toEqual(['w1']);
    expect(asked).toEqual([
      [10_250, undefined, []],
      [10_250, undefined, []],
      [10_250, undefined, []],
    ]);
  });
});

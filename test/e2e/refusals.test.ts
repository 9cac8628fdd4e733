import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { type CertificateAndKey, createCa, issueLeaf, toPkcs8 } from '../../pkg/pki/index.ts';
import { freePort, startControlPlane } from '../integration/kube/control-plane.ts';
import { folderOf, type PrivateFolder } from '../support/folder.ts';
import { describeReal } from '../support/real.ts';
import { etcdHealth, TLS_REFUSAL, tryEtcdClient, tryFrontProxy } from './refusals.ts';

// What proves the end of a rotation must itself be able to tell the two apart.
describeReal('the trials of old certificates, at one etcd', { tools: ['etcd', 'etcdctl'] }, () => {
  let old: CertificateAndKey;
  let present: CertificateAndKey;

  beforeAll(async () => {
    old = await createCa('etcd', { now: Date.now() });
    present = await createCa('etcd', { now: Date.now() });
  });

  it('tell an etcd that dropped the old CA from one that still trusts it', async () => {
    for (const [trusted, oldAccepted] of [
      [[present], false],
      [[present, old], true],
    ] as const) {
      await using etcd = await etcdTrusting(trusted, present);
      await untilServing(etcd.url, present);

      const tried = await tryEtcdClient({ server: etcd.url, signer: old, serverCa: present.certificate });

      expect(tried.accepted, tried.said).toBe(oldAccepted);
      if (!oldAccepted) expect(tried.said).toMatch(TLS_REFUSAL);
    }
  }, 300_000);

  it('read the health of a member, and see one that is not there', async () => {
    await using etcd = await etcdTrusting([present], present);
    await untilServing(etcd.url, present);
    const nobody = `https://127.0.0.1:${await freePort()}`;

    const alone = await etcdHealth([etcd.url], { signer: present, serverCa: present.certificate });
    const withNobody = await etcdHealth([etcd.url, nobody], { signer: present, serverCa: present.certificate });

    expect([alone.accepted, withNobody.accepted]).toEqual([true, false]);
  }, 300_000);
});

describeReal(
  'the trial of a front-proxy certificate, at one kube-apiserver',
  { tools: ['etcd', 'kube-apiserver'] },
  () => {
    it('is 200 for the CA that the server trusts and 401 for another of the same name', async () => {
      await using plane = await startControlPlane();
      const other = await createCa('kubernetes-aggregator', { now: Date.now() });
      const server = plane.apiServers[0]?.url ?? '';
      const serverCa = plane.kubernetesCa.certificate;

      const trusted = await tryFrontProxy({ server, signer: plane.aggregatorCa, serverCa });
      const untrusted = await tryFrontProxy({ server, signer: other, serverCa });

      expect([trusted, untrusted]).toEqual([200, 401]);
    }, 300_000);
  },
);

interface Etcd extends AsyncDisposable {
  readonly url: string;
}

/** One member that serves a leaf of `signer` and asks its clients for one of the trusted CAs. */
async function etcdTrusting(trusted: readonly CertificateAndKey[], signer: CertificateAndKey): Promise<Etcd> {
  const leaf = await issueLeaf(signer, {
    subject: { cn: 'etcd' },
    usages: ['server', 'client'],
    ips: ['127.0.0.1'],
    now: Date.now(),
  });
  const folder: PrivateFolder = await folderOf({
    'ca.crt': trusted.map((ca) => ca.certificate.pem).join(''),
    'server.crt': leaf.certificate.pem,
    'server.key': toPkcs8(leaf.key).expose(),
  });
  const url = `https://127.0.0.1:${await freePort()}`;
  const plane = await startControlPlane({
    apiServers: 0,
    etcdFlags: [
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      '--client-cert-auth=true',
      '--tls-min-version=TLS1.3',
      `--trusted-ca-file=${join(folder.path, 'ca.crt')}`,
      `--cert-file=${join(folder.path, 'server.crt')}`,
      `--key-file=${join(folder.path, 'server.key')}`,
    ],
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      await plane[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Each look takes as long as etcdctl's own deadline where nobody answers yet. */
async function untilServing(url: string, signer: CertificateAndKey): Promise<void> {
  let last = '';
  for (let look = 0; look < 10; look += 1) {
    const { accepted, said } = await tryEtcdClient({ server: url, signer, serverCa: signer.certificate });
    if (accepted) return;
    last = said;
  }
  throw new Error(`the etcd at ${url} does not serve: ${last}`);
}

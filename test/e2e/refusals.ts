import { request } from 'node:https';
import { join } from 'node:path';
import {
  type Certificate,
  type CertificateAndKey,
  etcdClientProfile,
  frontProxyClientProfile,
  issueLeaf,
  toPkcs8,
} from '../../pkg/pki/index.ts';
import { folderOf } from '../support/folder.ts';
import { run } from '../support/run.ts';
import { toolPath } from '../tools/tools.ts';

/** One server, one certificate authority, and the certificate of the CA that signed what the server serves. */
export interface ClientTrial {
  /** `https://host:port` */
  readonly server: string;
  /** Signs the client certificate that is tried; a leaf is made for the trial and thrown away. */
  readonly signer: CertificateAndKey;
  /** What the client trusts. */
  readonly serverCa: Certificate;
}

/** How a server took a client certificate, in the words of the tool that tried it. */
export interface ClientVerdict {
  readonly accepted: boolean;
  readonly said: string;
}

/**
 * What etcdctl says when a server refuses its certificate: the alert, or, where it
 * still wrote when the server had closed, a broken connection (both seen on real
 * etcd 3.7.3). The second is a refusal only beside a certificate that the same
 * server takes: whoever asks tries one.
 */
export const TLS_REFUSAL = /tls: .*certificate|broken pipe|connection reset by peer/;

const ETCD_ATTEMPTS = 10;

/**
 * Reads a key through `etcdctl` with a client certificate of this CA. etcd of
 * TLS 1.3 refuses a client after the handshake, so only a call that was answered
 * counts as accepted. A command whose time ran out before it was answered or
 * refused has shown nothing, and is given again.
 */
export async function tryEtcdClient({ server, signer, serverCa }: ClientTrial): Promise<ClientVerdict> {
  return withEtcdFiles(signer, serverCa, async (flags) => {
    const args = [...flags, `--endpoints=${server}`, '--command-timeout=5s', 'get', 'ichor-trial'];
    for (let attempt = 1; ; attempt += 1) {
      const { code, stdout, stderr } = await run(toolPath('etcdctl'), args, { timeoutMs: 30_000 });
      const said = `${stdout}${stderr}`;
      if (code === 0 || TLS_REFUSAL.test(said) || attempt === ETCD_ATTEMPTS) return { accepted: code === 0, said };
    }
  });
}

/** What `etcdctl endpoint health` says of these members, with a client certificate of this CA. */
export async function etcdHealth(
  servers: readonly string[],
  { signer, serverCa }: Omit<ClientTrial, 'server'>,
): Promise<ClientVerdict> {
  return withEtcdFiles(signer, serverCa, async (flags) => {
    const args = [...flags, `--endpoints=${servers.join(',')}`, '--command-timeout=20s', 'endpoint', 'health'];
    const { code, stdout, stderr } = await run(toolPath('etcdctl'), args, { timeoutMs: 60_000 });
    return { accepted: code === 0, said: `${stdout}${stderr}` };
  });
}

async function withEtcdFiles<T>(
  signer: CertificateAndKey,
  serverCa: Certificate,
  work: (flags: readonly string[]) => Promise<T>,
): Promise<T> {
  const leaf = await issueLeaf(signer, etcdClientProfile({ now: Date.now() }));
  await using folder = await folderOf({
    'ca.crt': serverCa.pem,
    'client.crt': leaf.certificate.pem,
    'client.key': toPkcs8(leaf.key).expose(),
  });
  const file = (name: string): string => join(folder.path, name);
  // Awaited here: leaving the block removes the files.
  return await work([`--cacert=${file('ca.crt')}`, `--cert=${file('client.crt')}`, `--key=${file('client.key')}`]);
}

/**
 * Asks an API server for a namespace in the name of an administrator, as its own
 * aggregation layer would: with a front-proxy certificate of this CA and
 * X-Remote-* headers. The status is all that counts: 200 where the certificate is
 * believed, 401 where it is not.
 */
export async function tryFrontProxy({ server, signer, serverCa }: ClientTrial): Promise<number> {
  const leaf = await issueLeaf(signer, frontProxyClientProfile({ now: Date.now() }));
  return new Promise((resolve, reject) => {
    const asked = request(
      `${server}/api/v1/namespaces/default`,
      {
        headers: { 'X-Remote-User': 'ichor-trial', 'X-Remote-Group': 'system:masters' },
        ca: serverCa.pem,
        cert: leaf.certificate.pem,
        key: toPkcs8(leaf.key).expose(),
        agent: false,
        timeout: 10_000,
      },
      (answer) => {
        resolve(answer.statusCode ?? 0);
        answer.destroy();
      },
    );
    asked.on('timeout', () => asked.destroy(new Error(`no answer from ${server} in 10 s`)));
    asked.on('error', reject);
    asked.end();
  });
}

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import * as x509 from '@peculiar/x509';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  type CaTarget,
  type Certificate,
  type CertificateAndKey,
  createServiceAccountKey,
  issueLeaf,
  keyAlgorithm,
  keyFits,
  lintCa,
  parseCertificate,
  parsePem,
  parsePrivateKey,
  parseServiceAccountKey,
  readX509,
  talosAdminProfile,
  verifyChain,
} from '../../../pkg/pki/index.ts';
import { aCa } from '../../builders/certificates.ts';
import { describeReal } from '../../support/real.ts';
import { output } from '../../support/run.ts';
import { toolPath } from '../../tools/tools.ts';
import { withFiles } from './openssl.ts';

const now = Date.now();
const CONTRACTS = ['v1.9', 'v1.10', 'v1.11', 'v1.12', 'v1.13', 'v1.14'] as const;

/** The names under `certs` in secrets.yaml. */
const FIELDS: readonly (readonly [CaTarget, string])[] = [
  ['talos', 'os'],
  ['kubernetes', 'k8s'],
  ['etcd', 'etcd'],
  ['kubernetes-aggregator', 'k8saggregator'],
];

type SecretsFile = { certs: Record<string, { crt?: string; key: string }> };

const talosctl = (...args: string[]) => output(toolPath('talosctl'), args, { timeoutMs: 60_000 });

function caIn(secrets: SecretsFile, field: string): CertificateAndKey {
  const { crt = '', key = '' } = secrets.certs[field] ?? {};
  return { certificate: parseCertificate(decoded(crt), field), key: parsePrivateKey(decoded(key), field) };
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}

/** Everything in a certificate that is not random or a time, in the order and encoding in which it stands. */
function profileOf(certificate: Certificate) {
  const { subject, issuer, signatureAlgorithm, extensions, subjectKeyId, authorityKeyId, serial } = readX509(
    certificate.der,
  );
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  const random = [subjectKeyId, authorityKeyId].flatMap((id) => (id === undefined ? [] : [hex(id)]));
  return {
    subject: hex(subject),
    issuer: hex(issuer),
    signatureAlgorithm,
    algorithm: certificate.algorithm,
    hours: (certificate.notAfter - certificate.notBefore) / 3_600_000,
    serialOctets: serial.length >= 15 && serial.length <= 17,
    extensions: extensions.map(({ oid, critical, value }) => ({
      oid,
      critical,
      value: random.reduce((text, id) => text.replace(id, `<${id.length / 2} octets>`), hex(value)),
    })),
  };
}

describeReal('talosctl', { tools: ['talosctl'] }, () => {
  for (const contract of CONTRACTS) {
    it(`makes secrets for ${contract} that we read, and CAs of exactly the profile of ours`, async () => {
      const secrets = parse(await talosctl('gen', 'secrets', '--talos-version', contract, '-o', '-')) as SecretsFile;

      const serviceAccount = decoded(secrets.certs.k8sserviceaccount?.key ?? '');
      expect(parseServiceAccountKey(serviceAccount).privateKey.expose()).toBe(serviceAccount);
      expect(keyAlgorithm(parsePrivateKey(serviceAccount))).toBe('rsa-4096');
      expect(labelOf(serviceAccount)).toBe('RSA PRIVATE KEY');
      for (const [target, field] of FIELDS) {
        const [theirs, ours] = [caIn(secrets, field), await aCa(target, { now })];
        expect(profileOf(ours.certificate)).toEqual(profileOf(theirs.certificate));
        expect(labelOf(ours.key.expose())).toBe(labelOf(theirs.key.expose()));
        expect(keyFits(theirs.certificate, theirs.key)).toBe(true);
        expect(lintCa(theirs, { now, name: field })).toEqual([]);
        expect(theirs.certificate.pem).toBe(decoded(secrets.certs[field]?.crt ?? ''));
        expect(theirs.key.expose()).toBe(decoded(secrets.certs[field]?.key ?? ''));
        // The identifier is not a digest of the key, which is what other tools write there.
        const spki = readX509(theirs.certificate.der).publicKeyInfo;
        const digest = Buffer.from(await crypto.subtle.digest('SHA-1', new Uint8Array(spki))).toString('hex');
        expect(Buffer.from(readX509(theirs.certificate.der).subjectKeyId ?? []).toString('hex')).not.toBe(digest);
      }
    });
  }

  it('makes an administrator’s certificate in a talosconfig of exactly the profile of ours', async () => {
    await withFiles({}, async (path) => {
      await talosctl(
        'gen',
        'config',
        'demo',
        'https://10.5.0.2:6443',
        '--output-types',
        'talosconfig',
        '-o',
        path('t'),
      );
      const { contexts } = parse(await readFile(path('t'), 'utf8')) as {
        contexts: Record<string, { ca: string; crt: string; key: string }>;
      };
      const context = contexts.demo;
      const theirs = parseCertificate(decoded(context?.crt ?? ''));
      const root = parseCertificate(decoded(context?.ca ?? ''));
      const key = parsePrivateKey(decoded(context?.key ?? ''));

      const ours = await issueLeaf(await aCa('talos', { now }), { ...talosAdminProfile({ now }), backdateMs: 0 });

      expect(profileOf(ours.certificate)).toEqual(profileOf(theirs));
      expect(labelOf(ours.key.expose())).toBe(labelOf(key.expose()));
      expect(verifyChain(theirs, [root], { now: theirs.notBefore, usage: 'client' })).toEqual({ ok: true, root });
    });
  });

  it('signs with our CA, and writes several roles in the order in which we do', async () => {
    const ca = await aCa('talos', { now });
    const roles = ['os:reader', 'os:operator', 'os:admin'];
    const files = { 'ca.crt': ca.certificate.pem, 'ca.key': ca.key.expose() };

    await withFiles(files, async (path) => {
      const run = (...args: string[]) => output(toolPath('talosctl'), args, { cwd: path('.'), timeoutMs: 60_000 });
      await run('gen', 'key', '--name', 'admin');
      await run('gen', 'csr', '--key', 'admin.key', '--ip', '127.0.0.1', '--roles', roles.join(','));
      await run('gen', 'crt', '--ca', 'ca', '--csr', 'admin.csr', '--name', 'admin', '--hours', '24');
      const theirs = parseCertificate(await readFile(path('admin.crt'), 'utf8'));
      const ours = await issueLeaf(ca, talosAdminProfile({ now, roles }));

      expect(verifyChain(theirs, [ca.certificate], { now: theirs.notBefore, usage: 'client' }).ok).toBe(true);
      expect(new x509.X509Certificate(theirs.pem).subject).toBe(new x509.X509Certificate(ours.certificate.pem).subject);
      expect(readX509(theirs.der).subject).toEqual(readX509(ours.certificate.der).subject);
    });
  });

  it('takes our Kubernetes, etcd and aggregator CAs and service-account key, and keeps them byte for byte', async () => {
    const [kubernetes, etcd, aggregator] = [
      await aCa('kubernetes', { now }),
      await aCa('etcd', { now }),
      await aCa('kubernetes-aggregator', { now }),
    ];
    const serviceAccount = await createServiceAccountKey();

    const secrets = await withFiles({}, async (path) => {
      await mkdir(path('etcd'));
      for (const [name, ca] of [
        ['ca', kubernetes],
        ['etcd/ca', etcd],
        ['front-proxy-ca', aggregator],
      ] as const) {
        await writeFile(path(`${name}.crt`), ca.certificate.pem);
        await writeFile(path(`${name}.key`), ca.key.expose(), { mode: 0o600 });
      }
      await writeFile(path('sa.key'), serviceAccount.privateKey.expose(), { mode: 0o600 });
      return parse(await talosctl('gen', 'secrets', '--from-kubernetes-pki', path('.'), '-o', '-')) as SecretsFile;
    });

    for (const [field, ca] of [
      ['k8s', kubernetes],
      ['etcd', etcd],
      ['k8saggregator', aggregator],
    ] as const) {
      expect(caIn(secrets, field).certificate).toEqual(ca.certificate);
      expect(caIn(secrets, field).key.equals(ca.key)).toBe(true);
    }
    expect(decoded(secrets.certs.k8sserviceaccount?.key ?? '')).toBe(serviceAccount.privateKey.expose());
  });

  it('issues an administrator’s certificate from our Talos CA', async () => {
    const ca = await aCa('talos', { now });
    const bundle = parse(await talosctl('gen', 'secrets', '-o', '-')) as SecretsFile;
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    bundle.certs.os = { crt: base64(ca.certificate.pem), key: base64(ca.key.expose()) };

    await withFiles({ 'secrets.yaml': JSON.stringify(bundle) }, async (path) => {
      const flags = ['--with-secrets', path('secrets.yaml'), '--output-types', 'talosconfig', '-o', path('t')];
      await talosctl('gen', 'config', 'demo', 'https://10.5.0.2:6443', ...flags);
      const text = await readFile(path('t'), 'utf8');
      const { contexts } = parse(text) as { contexts: Record<string, { ca: string; crt: string }> };

      expect(decoded(contexts.demo?.ca ?? '')).toBe(ca.certificate.pem);
      const leaf = parseCertificate(decoded(contexts.demo?.crt ?? ''));
      expect(verifyChain(leaf, [ca.certificate], { now: leaf.notBefore, usage: 'client' })).toEqual({
        ok: true,
        root: ca.certificate,
      });
    });
  });
});

function labelOf(pem: string): string | undefined {
  return parsePem(pem)[0]?.label;
}

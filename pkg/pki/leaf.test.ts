import * as x509 from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { aCa, aLeaf, anOddCertificate, MADE_AT } from '../../test/builders/certificates.ts';
import {
  etcdClientProfile,
  frontProxyClientProfile,
  issueLeaf,
  kubernetesAdminProfile,
  type LeafProfile,
  probeProfile,
  talosAdminProfile,
} from './leaf.ts';
import { parsePem } from './pem.ts';
import { keyFits } from './private-key.ts';
import { readX509 } from './x509-fields.ts';

const HOUR = 3_600_000;
const DIGITAL_SIGNATURE = 1;
const KEY_ENCIPHERMENT = 4;
const CLIENT = '1.3.6.1.5.5.7.3.2';
const SERVER = '1.3.6.1.5.5.7.3.1';

describe('issuing a leaf', () => {
  it('copies the authority key identifier from the CA and writes no identifier or constraints of its own', async () => {
    const ca = await aCa('etcd');

    const { certificate, key } = await aLeaf(ca);

    const second = new x509.X509Certificate(certificate.pem);
    const identifier = new x509.X509Certificate(ca.certificate.pem).getExtension(x509.SubjectKeyIdentifierExtension);
    expect(second.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId).toBe(identifier?.keyId);
    expect(second.extensions.map((extension) => [extension.type, extension.critical])).toEqual([
      ['2.5.29.15', true],
      ['2.5.29.37', false],
      ['2.5.29.35', false],
    ]);
    expect(certificate.isCa).toBe(false);
    expect(keyFits(certificate, key)).toBe(true);
  });

  it('leaves the authority key identifier out where the CA has none', async () => {
    const ca = await anOddCertificate({ subjectKeyId: false });

    const { certificate } = await aLeaf(ca);

    expect(readX509(certificate.der).authorityKeyId).toBeUndefined();
  });

  it("repeats the CA's name byte by byte, whatever its encoding", async () => {
    const name = new x509.Name([{ O: [{ utf8String: 'etcd' }] }, { CN: ['Müller, "the" CA'] }]);
    const ca = await anOddCertificate({ subject: name as unknown as string });

    const { certificate } = await aLeaf(ca);

    expect(readX509(certificate.der).issuer).toEqual(readX509(ca.certificate.der).subject);
  });

  it('takes Ed25519 under Ed25519, P-256 under every ECDSA, RSA 4096 under RSA', async () => {
    const under = async (algorithm: 'ed25519' | 'ecdsa-p256' | 'ecdsa-p384' | 'rsa-2048') => {
      const { certificate, key } = await aLeaf(await aCa('kubernetes', { algorithm }));
      return [certificate.algorithm, parsePem(key.expose())[0]?.label];
    };

    expect(await under('ed25519')).toEqual(['ed25519', 'ED25519 PRIVATE KEY']);
    expect(await under('ecdsa-p256')).toEqual(['ecdsa-p256', 'EC PRIVATE KEY']);
    expect(await under('ecdsa-p384')).toEqual(['ecdsa-p256', 'EC PRIVATE KEY']);
    expect(await under('rsa-2048')).toEqual(['rsa-4096', 'RSA PRIVATE KEY']);
  });

  it('writes names of hosts and addresses, critical only where there is no subject', async () => {
    const ca = await aCa('etcd');
    const sans = { dns: ['cp-1', 'localhost'], ips: ['10.5.0.2', '::1', 'fd00::5'] };

    const named = await aLeaf(ca, { ...sans, usages: ['server', 'client'] });
    const nameless = await aLeaf(ca, { ...sans, subject: {} });
    const organized = await aLeaf(ca, { ...sans, subject: { o: ['system:nodes'] } });

    const read = (pem: string) => new x509.X509Certificate(pem).getExtension(x509.SubjectAlternativeNameExtension);
    expect(read(named.certificate.pem)?.names.toJSON()).toEqual([
      { type: 'dns', value: 'cp-1' },
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '10.5.0.2' },
      { type: 'ip', value: '::1' },
      { type: 'ip', value: 'fd00::5' },
    ]);
    expect(read(named.certificate.pem)?.critical).toBe(false);
    expect(read(nameless.certificate.pem)?.critical).toBe(true);
    expect(read(organized.certificate.pem)?.critical).toBe(false);
  });

  it('writes no empty set into a name for a list without organizations', async () => {
    const { certificate } = await aLeaf(await aCa('etcd'), { subject: { o: [], cn: 'x' } });

    // SEQUENCE { SET { SEQUENCE { 2.5.4.3, PrintableString x } } }
    expect(Buffer.from(readX509(certificate.der).subject).toString('hex')).toBe('300c310a30080603550403130178');
  });

  it('begins five minutes early for a client, at once for a server, and otherwise as asked', async () => {
    const ca = await aCa('talos', { now: MADE_AT - HOUR });

    expect((await aLeaf(ca, { usages: ['client'] })).certificate.notBefore).toBe(MADE_AT - 300_000);
    expect((await aLeaf(ca, { usages: ['server'] })).certificate.notBefore).toBe(MADE_AT);
    expect((await aLeaf(ca, { backdateMs: 10_000 })).certificate.notBefore).toBe(MADE_AT - 10_000);
  });

  it('lasts 24 hours unless asked otherwise, and never longer than its CA', async () => {
    const ca = await aCa('talos', { validityMs: 48 * HOUR });

    expect((await aLeaf(ca)).certificate.notAfter).toBe(MADE_AT + 24 * HOUR);
    expect((await aLeaf(ca, { validityMs: 8_760 * HOUR })).certificate.notAfter).toBe(MADE_AT + 48 * HOUR);
  });

  it('signs with any CA what is made to be refused, up to the end of that CA', async () => {
    const expired = await aCa('talos', { now: MADE_AT - 20 * 365 * 86_400_000 });

    const { certificate } = await aLeaf(expired, { anySigner: true });

    expect(certificate.issuer).toBe(expired.certificate.subject);
    expect(certificate.notAfter).toBe(expired.certificate.notAfter);
  });

  it('signs nothing with a CA that the lint refuses', async () => {
    const expired = await aCa('etcd', { validityMs: HOUR });
    const later = MADE_AT + 2 * HOUR;

    await expect(aLeaf(expired, { now: later })).rejects.toMatchObject({
      name: 'PkiError',
      kind: 'refused',
      message: `nothing was signed: the signing CA (${expired.certificate.fingerprint}) expired at 2026-11-30T01:53:20.000Z; it is 2026-11-30T02:53:20.000Z`,
    });
  });

  it('names everything that the lint refuses', async () => {
    const { certificate, key } = await anOddCertificate({ notAfter: MADE_AT - HOUR, keyUsages: 1 });
    const ca = `the signing CA (${certificate.fingerprint})`;

    await expect(aLeaf({ certificate, key })).rejects.toThrow(
      `nothing was signed: ${ca} expired at 2026-11-29T23:53:20.000Z; it is 2026-11-30T00:53:20.000Z; ${ca} may not sign certificates: its key usages are digitalSignature, keyCertSign is missing`,
    );
  });

  it('signs nothing with a key that is not the CA certificate’s', async () => {
    const [one, two] = [await aCa('etcd'), await aCa('etcd')];

    await expect(aLeaf({ certificate: one.certificate, key: two.key })).rejects.toThrow(
      `nothing was signed: the signing CA (${one.certificate.fingerprint}) does not belong to the private key beside it`,
    );
  });
});

/** Subject, key usages, extended key usages and hours, as Talos 1.14.1 gives its own. */
const PROFILES: readonly (readonly [string, LeafProfile, string, number, string[], number])[] = [
  [
    'the talosconfig administrator',
    talosAdminProfile({ now: MADE_AT }),
    'O=os:admin',
    DIGITAL_SIGNATURE,
    [CLIENT],
    8760,
  ],
  [
    'the Kubernetes administrator',
    kubernetesAdminProfile({ now: MADE_AT }),
    'O=system:masters, CN=admin',
    DIGITAL_SIGNATURE | KEY_ENCIPHERMENT,
    [CLIENT],
    8760,
  ],
  [
    'a client of etcd',
    etcdClientProfile({ now: MADE_AT }),
    'CN=talos',
    DIGITAL_SIGNATURE | KEY_ENCIPHERMENT,
    [CLIENT],
    24,
  ],
  [
    'the API server as a client of etcd',
    etcdClientProfile({ now: MADE_AT, cn: 'kube-apiserver' }),
    'CN=kube-apiserver',
    DIGITAL_SIGNATURE | KEY_ENCIPHERMENT,
    [CLIENT],
    24,
  ],
  [
    'the front proxy',
    frontProxyClientProfile({ now: MADE_AT }),
    'CN=front-proxy-client',
    DIGITAL_SIGNATURE | KEY_ENCIPHERMENT,
    [CLIENT],
    24,
  ],
  ['a client probe', probeProfile({ now: MADE_AT, usage: 'client' }), 'CN=ichor-probe', DIGITAL_SIGNATURE, [CLIENT], 1],
  ['a server probe', probeProfile({ now: MADE_AT, usage: 'server' }), 'CN=ichor-probe', DIGITAL_SIGNATURE, [SERVER], 1],
];

describe('the profile of', () => {
  for (const [who, profile, subject, keyUsages, extended, hours] of PROFILES) {
    it(`${who} is ${subject}`, async () => {
      const { certificate } = await issueLeaf(await aCa('etcd'), profile);

      const second = new x509.X509Certificate(certificate.pem);
      expect(certificate.subject).toBe(subject);
      expect(second.subject).toBe(subject);
      expect(second.getExtension(x509.KeyUsagesExtension)?.usages).toBe(keyUsages);
      expect(second.getExtension(x509.ExtendedKeyUsageExtension)?.usages).toEqual(extended);
      expect(certificate.notAfter).toBe(MADE_AT + hours * HOUR);
    });
  }

  it('an administrator with several roles puts them into one set in the order of DER, as Go does', async () => {
    const profile = talosAdminProfile({ now: MADE_AT, roles: ['os:reader', 'os:operator', 'os:admin', 'os:backup'] });

    const { certificate } = await issueLeaf(await aCa('talos'), profile);

    expect(new x509.X509Certificate(certificate.pem).subjectName.toJSON()).toEqual([
      { O: ['os:admin', 'os:backup', 'os:reader', 'os:operator'] },
    ]);
  });

  it('one of roles with letters that no PrintableString has, too: its type stands before its length', async () => {
    const { certificate } = await issueLeaf(
      await aCa('talos'),
      talosAdminProfile({ now: MADE_AT, roles: ['b-', 'z_'] }),
    );

    expect(new x509.X509Certificate(certificate.pem).subjectName.toJSON()).toEqual([{ O: ['z_', 'b-'] }]);
  });
});

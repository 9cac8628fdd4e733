import { expect, it } from 'vitest';
import {
  type CaTarget,
  type Certificate,
  createServiceAccountKey,
  importCa,
  lintRotation,
  Secret,
  toPkcs8,
  verifyChain,
  writeCertificates,
} from '../../../pkg/pki/index.ts';
import { aCa, aLeaf, anOddCertificate, oddKeys } from '../../builders/certificates.ts';
import { describeWithOpenssl, openssl, tryOpenssl, withFiles } from './openssl.ts';

const TARGETS: readonly CaTarget[] = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'];
const now = Date.now();
const valid = { notBefore: now - 3_600_000, notAfter: now + 3_600_000 };

/** Whether openssl trusts `leaf` for `purpose` where `roots` are trusted, in that order. */
async function trusted(
  leaf: Certificate,
  roots: readonly Certificate[],
  purpose: 'sslclient' | 'sslserver' = 'sslclient',
): Promise<boolean> {
  const files = { 'leaf.crt': leaf.pem, 'ca.crt': writeCertificates(roots) };
  const { code } = await withFiles(files, (path) =>
    tryOpenssl('verify', '-no-CApath', '-purpose', purpose, '-CAfile', path('ca.crt'), path('leaf.crt')),
  );
  return code === 0;
}

describeWithOpenssl('openssl', () => {
  for (const target of TARGETS) {
    it(`trusts leaves of the old and the new ${target} CA where both are trusted, in both orders`, async () => {
      const [old, fresh] = [await aCa(target, { now }), await aCa(target, { now })];
      const leaves = [await aLeaf(old, { now }), await aLeaf(fresh, { now })];

      for (const roots of [
        [old.certificate, fresh.certificate],
        [fresh.certificate, old.certificate],
      ]) {
        for (const { certificate } of leaves) {
          expect(await trusted(certificate, roots)).toBe(true);
          expect(verifyChain(certificate, roots, { now, usage: 'client' }).ok).toBe(true);
        }
      }
    });

    it(`refuses a leaf of the new ${target} CA where only the old one is trusted, as we do`, async () => {
      const [old, fresh] = [await aCa(target, { now }), await aCa(target, { now })];
      const { certificate } = await aLeaf(fresh, { now });

      expect(await trusted(certificate, [old.certificate])).toBe(false);
      expect(verifyChain(certificate, [old.certificate], { now, usage: 'client' }).ok).toBe(false);
    });
  }

  for (const algorithm of ['ed25519', 'ecdsa-p256', 'ecdsa-p384', 'ecdsa-p521', 'rsa-2048', 'rsa-4096'] as const) {
    it(`verifies a CA of ${algorithm} and its leaf strictly, and finds its key sound`, async () => {
      const ca = await aCa('kubernetes', { now, algorithm });
      const leaf = await aLeaf(ca, { now, usages: ['server', 'client'], dns: ['cp-1'], ips: ['10.5.0.2', 'fd00::2'] });
      const files = {
        'ca.crt': ca.certificate.pem,
        'leaf.crt': leaf.certificate.pem,
        'ca.key': toPkcs8(ca.key).expose(),
        'leaf.key': toPkcs8(leaf.key).expose(),
      };

      await withFiles(files, async (path) => {
        const strict = ['-x509_strict', '-check_ss_sig', '-CAfile', path('ca.crt')];
        await openssl('verify', ...strict, '-purpose', 'sslserver', '-verify_hostname', 'cp-1', path('leaf.crt'));
        await openssl('verify', ...strict, '-purpose', 'sslclient', '-verify_ip', 'fd00::2', path('leaf.crt'));
        await openssl('verify', ...strict, path('ca.crt'));
        for (const name of ['ca', 'leaf']) {
          await openssl('pkey', '-check', '-noout', '-in', path(`${name}.key`));
          expect(await openssl('pkey', '-pubout', '-in', path(`${name}.key`))).toBe(
            await openssl('x509', '-pubkey', '-noout', '-in', path(`${name}.crt`)),
          );
        }
      });
    });
  }

  it('reads the same fingerprint, serial number, times and names as we do', async () => {
    const { certificate } = await aCa('etcd', { now });

    const printed = await withFiles({ 'ca.crt': certificate.pem }, (path) =>
      openssl('x509', '-in', path('ca.crt'), '-noout', '-fingerprint', '-sha256', '-serial', '-subject', '-dates'),
    );

    const hex = certificate.fingerprint.toUpperCase().match(/../g)?.join(':');
    expect(printed).toContain(`Fingerprint=${hex}\n`);
    expect(printed).toContain(`serial=${certificate.serial.toUpperCase()}\n`);
    expect(printed).toMatch(/subject=O ?= ?etcd\n/);
    const [from, until] = ['notBefore', 'notAfter'].map((field) =>
      Date.parse(new RegExp(`${field}=(.*)`).exec(printed)?.[1] ?? ''),
    );
    expect([from, until]).toEqual([certificate.notBefore, certificate.notAfter]);
  });

  it('reads both halves of a service-account key as one pair', async () => {
    const key = await createServiceAccountKey();
    const files = { 'sa.key': key.privateKey.expose(), 'sa.pub': key.publicKey };

    await withFiles(files, async (path) => {
      expect(await openssl('rsa', '-check', '-noout', '-in', path('sa.key'))).toContain('RSA key ok');
      expect(await openssl('rsa', '-pubout', '-in', path('sa.key'))).toBe(key.publicKey);
      expect(await openssl('pkey', '-pubin', '-text', '-noout', '-in', path('sa.pub'))).toContain('(4096 bit)');
    });
  });

  it('cannot tell apart two CAs of one name without key identifiers, which is why the lint refuses them', async () => {
    const keys = await oddKeys();
    const old = await anOddCertificate({ ...valid, subjectKeyId: false });
    const fresh = await anOddCertificate({ ...valid, subjectKeyId: false, keys });
    const leaf = await anOddCertificate({ ...valid, subject: 'CN=leaf', issuer: 'O=etcd', isCa: false, signer: keys });
    const inOrder = await trusted(leaf.certificate, [fresh.certificate, old.certificate]);
    const reversed = await trusted(leaf.certificate, [old.certificate, fresh.certificate]);

    expect([inOrder, reversed].sort()).toEqual([false, true]);
    expect(lintRotation([{ target: 'etcd', old, new: fresh }], { now }).map(({ rule }) => rule)).toEqual([
      'key-identifier',
    ]);
  });

  it('refuses a leaf whose authority key identifier is not its CA’s, which is why we are cautious there', async () => {
    const keys = await oddKeys();
    const ca = await anOddCertificate({ ...valid, keys });
    const leafWith = (authorityKeyId: string) =>
      anOddCertificate({
        ...valid,
        subject: 'CN=leaf',
        issuer: 'O=etcd',
        isCa: false,
        signer: keys,
        authorityKeyId,
      });
    const [right, wrong] = [await leafWith('11'.repeat(20)), await leafWith('33'.repeat(20))];

    expect(await trusted(right.certificate, [ca.certificate])).toBe(true);
    expect(await trusted(wrong.certificate, [ca.certificate])).toBe(false);
    expect(verifyChain(wrong.certificate, [ca.certificate], { now, usage: 'client' })).toMatchObject({
      ok: true,
      caution: expect.stringContaining('OpenSSL and Node refuse it'),
    });
  });

  for (const algorithm of ['ed25519', 'ecdsa-p256', 'ecdsa-p384', 'rsa-2048'] as const) {
    for (const [format, flags] of [
      ['with the ciphers of today', []],
      ['without encryption of the certificate', ['-certpbe', 'NONE']],
      ['with triple DES and SHA-1', ['-certpbe', 'PBE-SHA1-3DES', '-keypbe', 'PBE-SHA1-3DES', '-macalg', 'sha1']],
    ] as const) {
      it(`writes a PKCS#12 file of ${algorithm} ${format}, and we import it`, async () => {
        const ca = await aCa('kubernetes', { now, algorithm });
        const files = { 'ca.crt': ca.certificate.pem, 'ca.key': toPkcs8(ca.key).expose(), word: 'open sesame' };

        const imported = await withFiles(files, async (path) => {
          const out = ['-out', path('ca.p12'), '-passout', `file:${path('word')}`, ...flags];
          await openssl('pkcs12', '-export', '-in', path('ca.crt'), '-inkey', path('ca.key'), ...out);
          const { readFile } = await import('node:fs/promises');
          const source = { bytes: await readFile(path('ca.p12')), passphrase: Secret.of('passphrase', 'open sesame') };
          return importCa({ kind: 'pkcs12', ...source }, { now, where: 'ca.p12' });
        });

        expect(imported.certificate).toEqual(ca.certificate);
        expect(imported.key.expose()).toBe(ca.key.expose());
      });
    }
  }
});

import forge from 'node-forge';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCa, aLeaf, anOddCertificate, oddKeys } from '../../test/builders/certificates.ts';
import type { CertificateAndKey } from './certificate.ts';
import { keyObjectOf, parsePrivateKey } from './private-key.ts';
import { confirmRsa } from './rsa-second-reader.ts';

const rsaKeys = () =>
  oddKeys({
    name: 'RSASSA-PKCS1-v1_5',
    modulusLength: 2048,
    hash: 'SHA-256',
    publicExponent: new Uint8Array([1, 0, 1]),
  });
const signingAlgorithm = { name: 'RSASSA-PKCS1-v1_5' };

describe('the second reading of RSA material', () => {
  let ca: CertificateAndKey;
  beforeAll(async () => {
    ca = await aCa('etcd', { algorithm: 'rsa-2048' });
  });

  it('agrees with the first on what we make and on what others make', async () => {
    const odd = await anOddCertificate({ keys: await rsaKeys(), signingAlgorithm });

    await expect(confirmRsa(ca)).resolves.toBeUndefined();
    await expect(confirmRsa({ key: ca.key })).resolves.toBeUndefined();
    await expect(confirmRsa(odd)).resolves.toBeUndefined();
  });

  it('refuses a certificate that another key signed', async () => {
    const odd = await anOddCertificate({ keys: await rsaKeys(), signer: await rsaKeys(), signingAlgorithm });

    await expect(confirmRsa(odd, 'own-ca')).rejects.toMatchObject({
      kind: 'invalid-certificate',
      message: 'own-ca: an independent reader does not find this RSA certificate signed by its own key',
    });
  });

  it('refuses a key whose parts do not belong together: it signs what nobody can verify', async () => {
    const whole = keyObjectOf(ca.key);
    const read = forge.pki.privateKeyFromPem(whole.export({ type: 'pkcs1', format: 'pem' }).toString());
    // OpenSSL loads it as it is, and its public half is that of the certificate.
    const broken = { ...read, dP: read.dP.add(new forge.jsbn.BigInteger('2', 10)) } as forge.pki.rsa.PrivateKey;
    const key = parsePrivateKey(forge.pki.privateKeyToPem(broken).replaceAll('\r', ''));

    await expect(confirmRsa({ key }, 'own-ca')).rejects.toMatchObject({
      name: 'PkiError',
      kind: 'invalid-key',
      message: 'own-ca: the RSA key does not verify its own signature',
    });
  });

  it('leaves other algorithms alone', async () => {
    const ed25519 = await aCa('talos');

    await expect(confirmRsa(await aLeaf(ed25519))).resolves.toBeUndefined();
  });
});

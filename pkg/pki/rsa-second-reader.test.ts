import { describe, expect, it } from 'vitest';
import { aCa, aLeaf, anOddCertificate, oddKeys } from '../../test/builders/certificates.ts';
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
  it('agrees with the first on what we make and on what others make', async () => {
    const ca = await aCa('etcd', { algorithm: 'rsa-2048' });
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

  it('leaves other algorithms alone', async () => {
    const ca = await aCa('talos');

    await expect(confirmRsa(await aLeaf(ca))).resolves.toBeUndefined();
  });
});

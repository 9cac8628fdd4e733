import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509';

/** An Ed25519 key pair in WebCrypto's form. */
export async function aKeyPair(): Promise<webcrypto.CryptoKeyPair> {
  // Typed as a key or a pair; for Ed25519 it is a pair.
  const keys: unknown = await webcrypto.subtle.generateKey({ name: 'Ed25519' }, true, ['sign', 'verify']);
  return keys as webcrypto.CryptoKeyPair;
}

/** A signing request of a worker in PEM, with an organization that it has no right to. */
export async function aSigningRequest(keys?: webcrypto.CryptoKeyPair): Promise<string> {
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: 'O=os:admin, CN=worker-1',
    keys: keys ?? (await aKeyPair()),
    signingAlgorithm: { name: 'Ed25519' },
    extensions: [
      new SubjectAlternativeNameExtension([
        { type: 'dns', value: 'worker-1' },
        { type: 'ip', value: '10.0.0.7' },
      ]),
    ],
  });
  return request.toString('pem');
}

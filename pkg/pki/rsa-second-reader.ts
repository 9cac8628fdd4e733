import { type Certificate, sha256 } from './certificate.ts';
import { PkiError } from './errors.ts';
import { keyAlgorithm, keyFingerprint, keyObjectOf } from './private-key.ts';
import type { PrivateKeyPem } from './secret.ts';

/** What node-forge is asked to read again. */
export interface RsaMaterial {
  readonly key: PrivateKeyPem;
  readonly certificate?: Certificate;
}

/**
 * Has RSA material read by node-forge, whose arithmetic and encoding are
 * independent of OpenSSL's: the public half must be the same, a signature made
 * by one must satisfy the other, and a self-signed certificate must verify.
 * Material of other algorithms passes untouched; node-forge does not know them.
 *
 * @throws {PkiError} `invalid-key` where the two readers disagree.
 */
export async function confirmRsa({ key, certificate }: RsaMaterial, where?: string): Promise<void> {
  if (!keyAlgorithm(key).startsWith('rsa-')) return;
  const { default: forge } = await import('node-forge');
  const pkcs1 = keyObjectOf(key).export({ type: 'pkcs1', format: 'pem' }).toString();
  const second = forge.pki.privateKeyFromPem(pkcs1);
  const publicKey = forge.pki.setRsaPublicKey(second.n, second.e);
  const info = Buffer.from(forge.asn1.toDer(forge.pki.publicKeyToAsn1(publicKey)).getBytes(), 'binary');
  if (sha256(info) !== keyFingerprint(key)) {
    throw new PkiError('invalid-key', 'two independent readers find different public halves in this RSA key', {
      where,
    });
  }
  const digest = forge.md.sha512.create().update('ichor');
  if (!verifies(() => publicKey.verify(digest.digest().getBytes(), second.sign(digest)))) {
    throw new PkiError('invalid-key', 'the RSA key does not verify its own signature', { where });
  }
  if (certificate !== undefined) confirmCertificate(forge, certificate, where);
}

function confirmCertificate(forge: typeof import('node-forge'), certificate: Certificate, where: string | undefined) {
  const isSelfSigned = () => {
    const read = forge.pki.certificateFromPem(certificate.pem);
    return read.verify(read);
  };
  if (verifies(isSelfSigned)) return;
  const message = 'an independent reader does not find this RSA certificate signed by its own key';
  throw new PkiError('invalid-certificate', message, { where });
}

/** node-forge throws where a signature's padding does not come out: it does not verify. */
function verifies(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

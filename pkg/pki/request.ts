import { createPublicKey, type KeyObject } from 'node:crypto';
import { PkiError } from './errors.ts';
import { loadX509 } from './sign.ts';

/** OID of the extension (RFC 5280, 4.2.1.6). */
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';

/** What a signing request asks for. */
export interface SigningRequest {
  readonly commonName: string;
  readonly publicKey: KeyObject;
  readonly dns: readonly string[];
  readonly ips: readonly string[];
}

/**
 * Reads a signing request (PKCS #10, PEM) and checks that its own key signed it.
 *
 * @throws {PkiError} `invalid-certificate` for what is no request, `refused` for one that somebody else signed
 */
export async function readRequest(pem: string): Promise<SigningRequest> {
  const x509 = await loadX509();
  let request: InstanceType<typeof x509.Pkcs10CertificateRequest>;
  try {
    request = new x509.Pkcs10CertificateRequest(pem);
  } catch (cause) {
    throw new PkiError('invalid-certificate', 'expected a certificate request in PEM', { cause });
  }
  if (!(await request.verify())) {
    throw new PkiError('refused', 'the certificate request is not signed by the key in it');
  }
  const found = request.getExtension(SUBJECT_ALTERNATIVE_NAME);
  const names = found === null ? [] : new x509.SubjectAlternativeNameExtension(found.rawData).names.items;
  const ofType = (type: string): string[] => names.filter((name) => name.type === type).map(({ value }) => value);
  const key = Buffer.from(request.publicKey.rawData);
  return {
    commonName: request.subjectName.getField('CN')[0] ?? '',
    publicKey: createPublicKey({ key, type: 'spki', format: 'der' }),
    dns: ofType('dns'),
    ips: ofType('ip'),
  };
}

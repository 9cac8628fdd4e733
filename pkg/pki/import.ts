import { type Certificate, type CertificateAndKey, certificateFromDer, parseCertificate } from './certificate.ts';
import { PkiError } from './errors.ts';
import { type LintCaOptions, lintCa } from './lint.ts';
import { readPkcs12 } from './pkcs12.ts';
import { keyFingerprint, parsePrivateKey } from './private-key.ts';
import { confirmRsa } from './rsa-second-reader.ts';
import type { Secret } from './secret.ts';

/** Where a CA of the user's own comes from. */
export type CaSource =
  | { readonly kind: 'pem'; readonly certificate: string; readonly key: string | Secret }
  | { readonly kind: 'pkcs12'; readonly bytes: Uint8Array; readonly passphrase: Secret };

/** How to check it. */
export interface ImportCaOptions extends Omit<LintCaOptions, 'name'> {
  /** The file or field, for messages. */
  readonly where: string;
}

/**
 * Brings a CA of the user's own, held to the same rules as ours.
 *
 * The key keeps its bytes and label when it comes as PEM; from PKCS#12 it is
 * written under Talos's label.
 *
 * @throws {PkiError} `invalid-pem`, `invalid-certificate`, `invalid-key`, `invalid-pkcs12`;
 *   `refused` with every problem of `lintCa`.
 */
export async function importCa(source: CaSource, options: ImportCaOptions): Promise<CertificateAndKey> {
  const { where } = options;
  const ca = source.kind === 'pem' ? readPem(source, where) : await readStore(source, where);
  const problems = lintCa(ca, { ...options, name: 'the imported CA' });
  if (problems.length > 0) {
    throw new PkiError('refused', problems.map((problem) => problem.message).join('; '), { where });
  }
  await confirmRsa(ca, where);
  return ca;
}

function readPem(source: CaSource & { kind: 'pem' }, where: string): CertificateAndKey {
  return {
    certificate: parseCertificate(source.certificate, `${where} (certificate)`),
    key: parsePrivateKey(source.key, `${where} (key)`),
  };
}

async function readStore(source: CaSource & { kind: 'pkcs12' }, where: string): Promise<CertificateAndKey> {
  const { certificates, keys } = await readPkcs12(source.bytes, { passphrase: source.passphrase, where });
  const [key, second] = keys;
  if (key === undefined || second !== undefined) {
    throw new PkiError('invalid-pkcs12', `expected exactly one private key, found ${keys.length}`, { where });
  }
  const owner = keyFingerprint(key);
  const read: Certificate[] = certificates.map((der) => certificateFromDer(der));
  const certificate = read.find((candidate) => candidate.publicKeyFingerprint === owner);
  if (certificate === undefined) {
    throw new PkiError('invalid-pkcs12', `none of the ${read.length} certificates belongs to the private key`, {
      where,
    });
  }
  return { certificate, key };
}

import { createPrivateKey } from 'node:crypto';
import type * as Forge from 'node-forge';
import { PkiError } from './errors.ts';
import { writePrivateKey } from './private-key.ts';
import type { PrivateKeyPem, Secret } from './secret.ts';

/** What a PKCS#12 file holds. */
export interface Pkcs12Contents {
  /** DER, in the file's order. */
  readonly certificates: readonly Uint8Array[];
  readonly keys: readonly PrivateKeyPem[];
}

type ForgeModule = typeof Forge;

/**
 * Opens a PKCS#12 file through node-forge, which checks its integrity and
 * decrypts; keys and certificates of every algorithm come out as DER, since
 * node-forge itself understands RSA only.
 *
 * @throws {PkiError} `invalid-pkcs12` for a wrong passphrase, a damaged file or an unknown cipher.
 */
export async function readPkcs12(
  bytes: Uint8Array,
  options: { readonly passphrase: Secret; readonly where: string },
): Promise<Pkcs12Contents> {
  const { default: forge } = await import('node-forge');
  const { where } = options;
  try {
    const der = forge.util.createBuffer(Buffer.from(bytes).toString('binary'));
    const store = forge.pkcs12.pkcs12FromAsn1(forge.asn1.fromDer(der), true, options.passphrase.expose());
    const bags = store.safeContents.flatMap((contents) => contents.safeBags);
    return {
      certificates: bags.filter((bag) => bag.type === forge.pki.oids.certBag).map((bag) => certificateOf(forge, bag)),
      keys: bags.filter((bag) => isKey(forge, bag)).map((bag) => keyOf(forge, bag)),
    };
  } catch (cause) {
    if (cause instanceof PkiError) throw cause;
    // node-forge's texts hold no key material, but its error objects may: keep the text only.
    const reason = (cause as Error).message.split('\n')[0];
    throw new PkiError('invalid-pkcs12', `cannot be opened as PKCS#12 with this passphrase: ${reason}`, { where });
  }
}

function isKey(forge: ForgeModule, bag: Forge.pkcs12.Bag): boolean {
  return bag.type === forge.pki.oids.keyBag || bag.type === forge.pki.oids.pkcs8ShroudedKeyBag;
}

function certificateOf(forge: ForgeModule, bag: Forge.pkcs12.Bag): Uint8Array {
  return derOf(forge, bag.cert ? forge.pki.certificateToAsn1(bag.cert) : bag.asn1);
}

function keyOf(forge: ForgeModule, bag: Forge.pkcs12.Bag): PrivateKeyPem {
  const info = bag.key ? forge.pki.wrapRsaPrivateKey(forge.pki.privateKeyToAsn1(bag.key)) : bag.asn1;
  const key = createPrivateKey({ key: Buffer.from(derOf(forge, info)), format: 'der', type: 'pkcs8' });
  return writePrivateKey(key);
}

function derOf(forge: ForgeModule, asn1: Forge.asn1.Asn1): Uint8Array {
  return new Uint8Array(Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'binary'));
}

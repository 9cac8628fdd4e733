import { type BundleReplacements, CA_TARGETS, caOf, type SecretsBundle, withReplacements } from './bundle.ts';
import { type AgeCredentials, type Envelope, isAgeEncrypted, openEnvelope } from './envelope.ts';
import { BundleError } from './error.ts';
import type { BundleFormat } from './layout.ts';
import { locateBundle } from './locate.ts';
import { readBundle } from './read.ts';
import { replacementEdits } from './replace.ts';
import { decodeUtf8, parseSource } from './source.ts';
import { splice } from './splice.ts';

/** How to open a bundle. */
export interface OpenBundleOptions extends AgeCredentials {
  /** The file's name for messages; nothing is read from it. */
  readonly path: string;
}

/** A bundle together with the text that it came from: comments, order and unknown fields are part of it. */
export interface BundleDocument {
  readonly path: string;
  readonly format: BundleFormat;
  /** True when the file is encrypted with age; then `write` encrypts it again for the same people. */
  readonly encrypted: boolean;
  /** True when it is encrypted with a passphrase: whoever opened it can close it again. */
  readonly byPassphrase: boolean;
  readonly bundle: SecretsBundle;
  /**
   * The same document with other material. Only the replaced values change; every other byte stays.
   * Errors: `unchanged` where the new material equals the old, `mismatch` where a key does not fit its certificate,
   * `unsupported` where the format has no place for it.
   */
  replace(replacements: BundleReplacements): BundleDocument;
  /** The bytes of the file. Without a replacement exactly the bytes that were opened, encrypted ones too. */
  write(): Promise<Uint8Array>;
  /** Closes another file (a rotation record) in the way this one is closed: encrypted when this one is. */
  seal(plain: Uint8Array, path: string): Promise<Uint8Array>;
  /** Opens what `seal` made. A plain file beside an encrypted bundle is refused: it should not be there. */
  unseal(bytes: Uint8Array, path: string): Promise<Uint8Array>;
}

/** The text of an open document and how it is closed again. */
interface Content {
  readonly path: string;
  readonly text: string;
  readonly envelope: Envelope | undefined;
  /** The bytes as they were opened; nothing once something was replaced. */
  readonly original: Uint8Array | undefined;
}

/**
 * Opens a bundle in any form: the `secrets.yaml` of `talosctl gen secrets`, talhelper's `talsecret.yaml`, the JSON of
 * Terraform's `talos_machine_secrets` (alone, in `terraform output -json`, or in a state), plain or encrypted with age.
 * Every certificate and key is read and checked: a bundle that opens is whole.
 * Errors: {@link BundleError} with file, line and field.
 */
export async function openBundle(bytes: Uint8Array, options: OpenBundleOptions): Promise<BundleDocument> {
  const { path } = options;
  if (bytes.length === 0) {
    throw new BundleError(
      'missing',
      { path },
      'is empty. Restore the file: secrets are never made anew for a cluster that exists',
    );
  }
  if (!isAgeEncrypted(bytes, path)) {
    return documentOf({ path, text: decodeUtf8(bytes, path), envelope: undefined, original: bytes });
  }
  const { plain, envelope } = await openEnvelope(bytes, options, path);
  return documentOf({ path, text: decodeUtf8(plain, path), envelope, original: bytes });
}

/** A document around a text; used for texts that are made here too. */
export function documentOf(content: Content): BundleDocument {
  const { path, text, envelope, original } = content;
  const place = locateBundle(parseSource(text, path));
  const bundle = readBundle(place);
  return {
    path,
    format: place.layout.format,
    encrypted: envelope !== undefined,
    byPassphrase: envelope?.byPassphrase === true,
    bundle,
    replace(replacements) {
      const edits = replacementEdits(place, bundle, replacements);
      const replaced = documentOf({ path, text: splice(text, edits), envelope, original: undefined });
      assertOnlyReplaced(withReplacements(bundle, replacements), replaced.bundle);
      return replaced;
    },
    async write() {
      if (original !== undefined) return original.slice();
      const plain = new TextEncoder().encode(text);
      return envelope === undefined ? plain : envelope.seal(plain, path);
    },
    async seal(plain, target) {
      return envelope === undefined ? plain : envelope.seal(plain, target);
    },
    async unseal(sealed, target) {
      const isSealed = isAgeEncrypted(sealed, target);
      if (envelope === undefined) {
        if (!isSealed) return sealed;
        throw new BundleError('encrypted', { path: target }, `is encrypted with age although ${path} is not`);
      }
      if (!isSealed) {
        throw new BundleError(
          'mismatch',
          { path: target },
          `is not encrypted although ${path} is; who wrote it? Encrypt it or remove it`,
        );
      }
      return envelope.open(sealed, target);
    },
  };
}

/** Our own mistake, were it ever to happen: the text after a replacement says something else than was asked. */
function assertOnlyReplaced(expected: SecretsBundle, found: SecretsBundle): void {
  const values = new Map(comparable(found));
  for (const [name, value] of comparable(expected)) {
    if (values.get(name) !== value) {
      throw new Error(`a replacement changed ${name} in a way that was not asked for; nothing was written`);
    }
  }
}

function comparable(bundle: SecretsBundle): [string, string | undefined][] {
  const cas = CA_TARGETS.flatMap((target): [string, string][] => {
    const { certificate, key } = caOf(bundle, target);
    return [
      [target, certificate.pem],
      [`${target} key`, key.expose()],
    ];
  });
  return [
    ...cas,
    ['cluster id', bundle.clusterId],
    ['cluster secret', bundle.clusterSecret.expose()],
    ['bootstrap token', bundle.bootstrapToken.expose()],
    ['trustd token', bundle.trustdToken.expose()],
    ['secretbox key', bundle.secretboxEncryptionSecret?.expose()],
    ['aescbc key', bundle.aescbcEncryptionSecret?.expose()],
    ['service-account key', bundle.serviceAccount.privateKey.expose()],
  ];
}

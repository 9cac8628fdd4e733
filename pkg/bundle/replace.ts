import { isScalar, type ParsedNode, type Scalar } from 'yaml';
import type { EncryptionKey } from '../pki/index.ts';
import { type BundleReplacements, CA_TARGETS, caOf, type SecretsBundle } from './bundle.ts';
import { BundleError } from './error.ts';
import type { BundlePlace, FieldPath } from './layout.ts';
import { checkReplacement, encodePem } from './material.ts';
import { mapAt, type Value } from './source.ts';
import { type Edit, scalarLike } from './splice.ts';
import { optionalValue, requiredValue } from './values.ts';

/** The edits that put new material into the text of a bundle. Errors: see `BundleDocument.replace`. */
export function replacementEdits(place: BundlePlace, bundle: SecretsBundle, replacements: BundleReplacements): Edit[] {
  const edits: Edit[] = [];
  const put = (field: FieldPath, text: string) => edits.push(editOf(place, requiredValue(place, field), text));
  for (const target of CA_TARGETS) {
    const ca = replacements[target];
    if (ca === undefined) continue;
    checkReplacement(target, caOf(bundle, target), ca, { path: place.source.path });
    put(place.layout.cas[target].certificate, encodePem(ca.certificate.pem));
    put(place.layout.cas[target].key, encodePem(ca.key.expose()));
  }
  const serviceAccount = replacements['service-account'];
  if (serviceAccount !== undefined) {
    if (serviceAccount.fingerprint === bundle.serviceAccount.fingerprint) throw unchanged(place, 'service-account key');
    put(place.layout.serviceAccountKey, encodePem(serviceAccount.privateKey.expose()));
  }
  const encryption = replacements['etcd-encryption'];
  if (encryption !== undefined) edits.push(...encryptionEdits(place, bundle, encryption));
  return edits;
}

function editOf(place: BundlePlace, value: Value, text: string): Edit {
  const { start, end, style } = value;
  return { start, end, text: scalarLike(style, text, place.source.text.slice(start, end)) };
}

/** A key of the same provider replaces the value; a key of the other provider replaces the field's name as well. */
function encryptionEdits(place: BundlePlace, bundle: SecretsBundle, key: EncryptionKey): Edit[] {
  const { path } = place.source;
  if (key.provider !== 'secretbox' && key.provider !== 'aescbc') {
    throw new BundleError(
      'unsupported',
      { path },
      `a bundle has no field for an encryption key of the provider ${key.provider}`,
    );
  }
  const known = [bundle.secretboxEncryptionSecret, bundle.aescbcEncryptionSecret];
  if (known.some((secret) => secret?.equals(key.secret))) throw unchanged(place, 'encryption key');
  const field = place.layout[key.provider];
  const present = optionalValue(place, field);
  const text = key.secret.expose();
  if (present !== undefined) return [editOf(place, present, text)];
  const otherField = place.layout[key.provider === 'secretbox' ? 'aescbc' : 'secretbox'];
  const other = requiredValue(place, otherField);
  return [renameField(place, otherField, field), editOf(place, other, text)];
}

function renameField(place: BundlePlace, from: FieldPath, to: FieldPath): Edit {
  const [oldName, newName] = [from.at(-1) ?? '', to.at(-1) ?? ''];
  const map = mapAt(place.map, from.slice(0, -1));
  const pair = map?.items.find((item) => isScalar(item.key) && item.key.value === oldName);
  const empty = map?.items.find((item) => isScalar(item.key) && item.key.value === newName);
  const { path } = place.source;
  if (empty !== undefined) {
    throw new BundleError(
      'unsupported',
      { path, field: to.join('.') },
      'stands there without a value; remove that line first',
    );
  }
  const key = pair?.key as unknown as Scalar & ParsedNode;
  const [start, end] = key.range;
  return { start, end, text: scalarLike(key.type ?? 'PLAIN', newName, '') };
}

function unchanged(place: BundlePlace, what: string): BundleError {
  return new BundleError('unchanged', { path: place.source.path }, `the new ${what} equals the one that it replaces`);
}

import { BundleError } from './error.ts';
import type { BundlePlace, FieldPath } from './layout.ts';
import { lineNear, maskedValue, type Value, valueAt } from './source.ts';

/** The value of a field that must be there. Errors: `missing`, and `redacted` for a masked or templated value. */
export function requiredValue(place: BundlePlace, field: FieldPath): Value {
  const value = optionalValue(place, field);
  if (value !== undefined) return value;
  const { source, map, prefix } = place;
  throw new BundleError(
    'missing',
    { path: source.path, line: lineNear(source, map, field), field: prefix + field.join('.') },
    'is missing or empty. Restore it: secrets are never made anew for a cluster that exists',
  );
}

/** The value of a field that may be absent. Errors: `redacted` for a masked or templated value. */
export function optionalValue(place: BundlePlace, field: FieldPath): Value | undefined {
  const value = valueAt(place.source, place.map, field, place.prefix);
  if (value === undefined) return undefined;
  const at = { path: place.source.path, line: value.line, field: value.field };
  if (/^\*+$/.test(value.text)) throw maskedValue(at);
  // vals, envsubst, templates and 1Password: people keep bundles as references in Git.
  if (/^(ref\+|\$\{|\{\{|vault:|op:\/\/)/.test(value.text)) {
    throw new BundleError(
      'redacted',
      at,
      'is a reference for another tool to fill in, not the value; resolve it first',
    );
  }
  return value;
}

/** Decodes standard base64 as strictly as Go does: line ends are skipped, anything else is refused. */
export function decodeBase64(text: string, fail: (problem: string) => BundleError): Buffer {
  const compact = text.replace(/[\r\n]/g, '');
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact)) {
    throw fail('is not base64');
  }
  return Buffer.from(compact, 'base64');
}

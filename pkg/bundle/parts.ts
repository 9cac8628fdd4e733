import { CA_TARGETS, caOf, type SecretsBundle } from './bundle.ts';
import { type BundleDocument, documentOf } from './document.ts';
import { CAS_IN_FILE_ORDER, type FieldPath, TALOSCTL_LAYOUT } from './layout.ts';
import { checkFits, encodePem } from './material.ts';

/** A bundle that is put together here: from a control-plane configuration, or from another tool's material. */
export type BundleParts = SecretsBundle;

/**
 * Writes a bundle from its parts, in the layout and order of `talosctl gen secrets`, and opens it again, so that parts
 * that do not make a whole bundle are refused like a broken file. Who reads a machine configuration fills in the parts:
 * only what the configuration signs with belongs here, never what it merely accepts.
 */
export function bundleFromParts(parts: BundleParts, { path }: { readonly path: string }): BundleDocument {
  for (const target of CA_TARGETS)
    checkFits(caOf(parts, target), { path, field: TALOSCTL_LAYOUT.cas[target].key.join('.') });
  return documentOf({ path, text: renderBundle(parts), envelope: undefined, original: undefined });
}

/** The text of a bundle as `talosctl gen secrets` writes it: four spaces a level, no quotes. */
function renderBundle(parts: BundleParts): string {
  const layout = TALOSCTL_LAYOUT;
  const values: [FieldPath, string | undefined][] = [
    [layout.clusterId, parts.clusterId],
    [layout.clusterSecret, parts.clusterSecret.expose()],
    [layout.bootstrapToken, parts.bootstrapToken.expose()],
    [layout.aescbc, parts.aescbcEncryptionSecret?.expose()],
    [layout.secretbox, parts.secretboxEncryptionSecret?.expose()],
    [layout.trustdToken, parts.trustdToken.expose()],
  ];
  for (const target of CAS_IN_FILE_ORDER) {
    // The file has the service-account key between the aggregator CA and the Talos CA.
    if (target === 'talos')
      values.push([layout.serviceAccountKey, encodePem(parts.serviceAccount.privateKey.expose())]);
    const ca = caOf(parts, target);
    values.push([layout.cas[target].certificate, encodePem(ca.certificate.pem)]);
    values.push([layout.cas[target].key, encodePem(ca.key.expose())]);
  }
  return renderTree(values.filter((entry): entry is [FieldPath, string] => entry[1] !== undefined));
}

function renderTree(values: readonly (readonly [FieldPath, string])[]): string {
  const lines: string[] = [];
  let open: FieldPath = [];
  for (const [path, value] of values) {
    const parents = path.slice(0, -1);
    const shared = parents.findIndex((name, index) => open[index] !== name);
    const from = shared < 0 ? parents.length : shared;
    for (let depth = from; depth < parents.length; depth += 1) lines.push(`${'    '.repeat(depth)}${parents[depth]}:`);
    lines.push(`${'    '.repeat(parents.length)}${path.at(-1)}: ${scalar(value)}`);
    open = parents;
  }
  return `${lines.join('\n')}\n`;
}

/** Everything that Talos makes is safe without quotes; a cluster ID that somebody chose need not be. */
function scalar(value: string): string {
  return /^[A-Za-z0-9+/_][A-Za-z0-9+/=_.-]*$/.test(value) ? value : JSON.stringify(value);
}

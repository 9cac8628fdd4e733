import { isMap, isScalar, isSeq, type YAMLMap, type YAMLSeq } from 'yaml';
import { BundleError } from './error.ts';
import { type BundlePlace, TALOSCTL_LAYOUT, TERRAFORM_LAYOUT } from './layout.ts';
import { mapAt, type Source } from './source.ts';

/** How deep a bundle may stand in a Terraform document: a state has it at depth 6. */
const DEEPEST = 12;

/**
 * Finds the one bundle in a document and its layout. Anything else that people have at hand is recognised and named:
 * a SOPS file, a machine configuration, a talosconfig, a rotation record.
 */
export function locateBundle(source: Source): BundlePlace {
  const { root, path } = source;
  refuseSops(source);
  if (mapAt(root, ['certs'])?.has('k8s_aggregator') !== true && looksLikeTalosctl(root)) {
    return { source, map: root, layout: TALOSCTL_LAYOUT, prefix: '' };
  }
  const found = [...terraformBundles(root, '', 0)];
  const [first, second] = found;
  if (first === undefined) throw new BundleError('malformed', { path, line: 1 }, describeStranger(root));
  if (second !== undefined) {
    const line = source.lineOf(second.map.range?.[0] ?? 0);
    throw new BundleError(
      'malformed',
      { path, line, field: second.prefix.slice(0, -1) },
      `a second bundle (the first is ${first.prefix.slice(0, -1)}); cut the file down to the one of the cluster`,
    );
  }
  return { source, map: first.map, layout: TERRAFORM_LAYOUT, prefix: first.prefix };
}

function looksLikeTalosctl(root: YAMLMap): boolean {
  return ['cluster', 'secrets', 'trustdinfo', 'certs'].some((key) => root.has(key)) && !root.has('machine');
}

function refuseSops(source: Source): void {
  const sops = source.root.get('sops', true);
  const masked = ['data', 'cluster', 'certs'].some((key) => holdsSopsValue(source.root.get(key, true), 0));
  if (!isMap(sops) && !masked) return;
  throw new BundleError(
    'encrypted',
    { path: source.path },
    'is encrypted with SOPS, which is not opened here. Turn it into an age file without a plain copy on disk: ' +
      `sops --decrypt ${source.path} | age --encrypt --armor --recipient age1… > secrets.yaml, use that, and at the end ` +
      'age --decrypt --identity KEY secrets.yaml | sops --encrypt --input-type yaml --output-type yaml /dev/stdin',
  );
}

function holdsSopsValue(node: unknown, depth: number): boolean {
  if (isScalar(node)) return typeof node.value === 'string' && node.value.startsWith('ENC[AES256_GCM,');
  return isMap(node) && depth < 4 && node.items.some((pair) => holdsSopsValue(pair.value, depth + 1));
}

function* terraformBundles(
  node: YAMLMap | YAMLSeq,
  prefix: string,
  depth: number,
): Generator<Pick<BundlePlace, 'map' | 'prefix'>> {
  if (isMap(node) && isTerraformBundle(node)) {
    yield { map: node, prefix };
    return;
  }
  if (depth > DEEPEST) return;
  const children = isMap(node)
    ? node.items.map((pair) => [String(isScalar(pair.key) ? pair.key.value : pair.key), pair.value] as const)
    : node.items.map((item, index) => [String(index), item] as const);
  for (const [name, child] of children) {
    if (isMap(child) || isSeq(child)) yield* terraformBundles(child, `${prefix}${name}.`, depth + 1);
  }
}

function isTerraformBundle(map: YAMLMap): boolean {
  const certs = mapAt(map, ['certs']);
  return (
    certs !== undefined &&
    isMap(certs.get('k8s_aggregator', true)) &&
    isMap(certs.get('os', true)) &&
    map.has('trustdinfo')
  );
}

function describeStranger(root: YAMLMap): string {
  const expected =
    'expected secrets.yaml as talosctl gen secrets makes it (cluster, secrets, trustdinfo, certs), or machine_secrets of Terraform';
  if (root.has('machine') || root.has('apiVersion')) {
    return `is a machine configuration; ${expected}. ichor cluster import takes the bundle out of it`;
  }
  if (root.has('contexts')) return `is a talosconfig; ${expected}`;
  if (root.has('version') && root.has('checksum')) return `is a rotation record; ${expected}`;
  return `is not a bundle; ${expected}`;
}

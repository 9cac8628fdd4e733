import { isMap, type ParsedNode, type YAMLMap, type YAMLSeq } from 'yaml';
import { type EncryptionKey, type EncryptionProvider, parseEncryptionKey } from '../pki/index.ts';
import type { Access } from './access.ts';
import { MachineConfigError } from './error.ts';
import { type ScalarField, translated } from './material.ts';
import { clusterOf } from './role.ts';
import { type AnyPair, isNull } from './yaml/nodes.ts';
import { documentOf } from './yaml/parse.ts';
import { placeAt } from './yaml/source.ts';

/** The encryption of stored objects, as kube-apiserver will be told. */
export interface EncryptionRules {
  readonly shape: 'legacy' | 'typed';
  readonly rules: readonly EncryptionRule[];
}

/** Some resources and how they are encrypted; the first key of the first provider writes. */
export interface EncryptionRule {
  /** Such as `KubeEtcdEncryptionConfig.config.resources[0]`. */
  readonly path: string;
  readonly resources: readonly string[];
  readonly providers: readonly EncryptionProviderEntry[];
  /** Where its providers are written; undefined for the rule that the old fields stand for. */
  readonly list: YAMLSeq | undefined;
}

/** One provider of a rule: one with keys of its own, `identity`, or one that is only carried along, such as `kms`. */
export interface EncryptionProviderEntry {
  readonly name: string;
  readonly keys: readonly EncryptionSlot[];
  /** Where its keys are written. */
  readonly list: YAMLSeq | undefined;
}

/** A key where it stands. */
export interface EncryptionSlot {
  readonly key: EncryptionKey;
  /** Where it is written; undefined for the old fields. */
  readonly fields: { readonly name: ScalarField; readonly secret: ScalarField } | undefined;
}

const KEYED: ReadonlySet<string> = new Set<EncryptionProvider>(['secretbox', 'aescbc', 'aesgcm']);
const KIND = 'KubeEtcdEncryptionConfig';

/** Provider and key name that Talos gives the old fields (`k8stemplates/apiserver.go`), in its order; identity follows. */
export const LEGACY_KEYS = [
  { field: 'secretboxEncryptionSecret', provider: 'secretbox', name: 'key2' },
  { field: 'aescbcEncryptionSecret', provider: 'aescbc', name: 'key1' },
] as const;

/**
 * Reads the encryption of a control plane: the typed document, or what the old
 * fields stand for. Undefined where neither is there.
 *
 * @throws {MachineConfigError} for a rule that is not of the form that kube-apiserver reads.
 */
export function readEncryption(access: Access): EncryptionRules | undefined {
  return access.once('etcd-encryption', () => readRules(access));
}

function readRules(access: Access): EncryptionRules | undefined {
  const document = documentOf(access.config, KIND);
  if (document !== undefined) {
    const config = access.fields.map(document.map, 'config', `${KIND}.config`);
    const list = config && access.fields.list(config, 'resources', `${KIND}.config.resources`);
    const rules = (list?.items ?? []).map((item, index) =>
      readRule(access, item as ParsedNode, `${KIND}.config.resources[${index}]`),
    );
    return { shape: 'typed', rules };
  }
  const rule = readLegacyRule(access);
  return rule === undefined ? undefined : { shape: 'legacy', rules: [rule] };
}

function readLegacyRule(access: Access): EncryptionRule | undefined {
  const cluster = clusterOf(access);
  if (cluster === undefined) return undefined;
  const providers: EncryptionProviderEntry[] = [];
  for (const { field, provider, name } of LEGACY_KEYS) {
    const path = `cluster.${field}`;
    const scalar = access.fields.scalar(cluster, field, path);
    if (scalar === undefined || scalar.value === '') continue;
    const key = translated(access, { scalar, path }, () => parseEncryptionKey(provider, name, String(scalar.value)));
    providers.push({ name: provider, keys: [{ key, fields: undefined }], list: undefined });
  }
  if (providers.length === 0) return undefined;
  const identity = { name: 'identity', keys: [], list: undefined };
  return { path: 'cluster', resources: ['secrets'], providers: [...providers, identity], list: undefined };
}

function readRule(access: Access, item: ParsedNode, path: string): EncryptionRule {
  const map = access.fields.asMap(item, path);
  const resources = access.fields.list(map, 'resources', `${path}.resources`);
  const list = access.fields.list(map, 'providers', `${path}.providers`);
  return {
    path,
    resources: (resources?.items ?? []).map((each, index) =>
      String(access.fields.asScalar(each as ParsedNode, `${path}.resources[${index}]`).value),
    ),
    providers: (list?.items ?? []).map((each, index) =>
      readProvider(access, each as ParsedNode, `${path}.providers[${index}]`),
    ),
    list,
  };
}

function readProvider(access: Access, item: ParsedNode, path: string): EncryptionProviderEntry {
  const map = access.fields.asMap(item, path);
  const names = (map.items as AnyPair[]).map((pair) => String((pair.key as { value?: unknown }).value));
  const [name, second] = names;
  if (name === undefined || second !== undefined) {
    const message = `expected exactly one provider, found ${names.length === 0 ? 'none' : names.join(', ')}`;
    throw new MachineConfigError('bad-value', message, placeAt(access.config, item.range[0], path));
  }
  if (!KEYED.has(name)) return { name, keys: [], list: undefined };
  const body = access.fields.map(map, name, `${path}.${name}`);
  const list = body && access.fields.list(body, 'keys', `${path}.${name}.keys`);
  const keys = (list?.items ?? []).map((each, index) =>
    readKey(access, name as EncryptionProvider, each as ParsedNode, `${path}.${name}.keys[${index}]`),
  );
  if (keys.length > 0) return { name, keys, list };
  const place = placeAt(access.config, item.range[0], path);
  throw new MachineConfigError(
    'missing-value',
    `the ${name} provider has no keys; kube-apiserver would not start`,
    place,
  );
}

function readKey(access: Access, provider: EncryptionProvider, item: ParsedNode, path: string): EncryptionSlot {
  const map = access.fields.asMap(item, path);
  const name = required(access, map, 'name', path);
  const secret = required(access, map, 'secret', path);
  const key = translated(access, secret, () =>
    parseEncryptionKey(provider, String(name.scalar.value), String(secret.scalar.value)),
  );
  return { key, fields: { name, secret } };
}

function required(access: Access, map: YAMLMap, key: string, path: string): ScalarField {
  const scalar = access.fields.scalar(map, key, `${path}.${key}`);
  if (scalar !== undefined && !isNull(scalar)) return { scalar, path: `${path}.${key}` };
  const place = placeAt(access.config, isMap(map) ? (map.range?.[0] ?? 0) : 0, path);
  throw new MachineConfigError('missing-value', `an encryption key without ${key}`, place);
}

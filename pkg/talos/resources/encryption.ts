import type { Fingerprint } from '../../pki/index.ts';
import { sha256 } from '../fields.ts';

/** An encryption key by name and by SHA-256 of its bytes; the bytes are dropped when the resource is read. */
export interface EncryptionKeyReference {
  readonly provider: string;
  readonly name: string;
  readonly fingerprint: Fingerprint | undefined;
}

/** One entry of the encryption configuration: the first provider writes, all of them read. */
export interface EncryptionEntry {
  readonly resources: readonly string[];
  /** In order; a provider without keys, such as `identity`, comes once with an empty name. */
  readonly keys: readonly EncryptionKeyReference[];
}

/** SHA-256 of the bytes of an encryption key given in base64, as configurations hold it. */
export function encryptionKeyFingerprint(base64: string): Fingerprint {
  return sha256(Buffer.from(base64, 'base64'));
}

/** A YAML value as the machine has it: Talos checks nothing of the document before it is in COSI. */
type Unchecked = { readonly [key: string]: unknown } | undefined;

/**
 * Reads the encryption configuration of the 1.14 document, names and fingerprints only.
 *
 * @throws Error that says where something else stands than kube-apiserver reads, never what
 */
export function readEncryption(config: Unchecked, where: string): readonly EncryptionEntry[] {
  return listIn(config, 'resources', where).map((entry, index) => {
    const place = `${where}.resources[${index}]`;
    const fields = mapOf(entry, place);
    return {
      resources: listIn(fields, 'resources', place).map((name) => textOf(name, `${place}.resources`)),
      keys: listIn(fields, 'providers', place).flatMap((provider, position) =>
        readProvider(mapOf(provider, `${place}.providers[${position}]`), `${place}.providers[${position}]`),
      ),
    };
  });
}

function readProvider(provider: Unchecked, where: string): readonly EncryptionKeyReference[] {
  return Object.entries(provider ?? {}).flatMap(([name, config]) => {
    const place = `${where}.${name}`;
    const keys = listIn(mapOf(config, place), 'keys', place);
    if (keys.length === 0) return [{ provider: name, name: '', fingerprint: undefined }];
    return keys.map((entry, index) =>
      readKey(name, mapOf(entry, `${place}.keys[${index}]`), `${place}.keys[${index}]`),
    );
  });
}

function readKey(provider: string, key: Unchecked, where: string): EncryptionKeyReference {
  const secret = key?.secret ?? undefined;
  return {
    provider,
    name: textOf(key?.name ?? '', `${where}.name`),
    fingerprint: secret === undefined ? undefined : encryptionKeyFingerprint(textOf(secret, `${where}.secret`)),
  };
}

function mapOf(value: unknown, where: string): Unchecked {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`${where} is ${kindOf(value)}, not a map`);
  return value as Unchecked;
}

function listIn(map: Unchecked, field: string, where: string): readonly unknown[] {
  const value = map?.[field];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${where}.${field} is ${kindOf(value)}, not a list`);
  return value;
}

function textOf(value: unknown, where: string): string {
  if (typeof value !== 'string') throw new Error(`${where} is ${kindOf(value)}, not a text`);
  return value;
}

/** The kind of a value, for errors: the value itself may be a key. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

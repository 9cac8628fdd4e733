import type { ParsedNode, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import type { Certificate, Fingerprint, PrivateKeyPem } from '../pki/index.ts';
import type { Access } from './access.ts';
import { MachineConfigError } from './error.ts';
import { certificatesIn, keyFingerprintIn, type ScalarField } from './material.ts';
import type { Shape } from './shapes/shape.ts';
import type { Arrangement, Block, Entries } from './trust-list.ts';
import type { Edit } from './yaml/edits.ts';
import { placeAt } from './yaml/source.ts';

/** Where one CA lives in one configuration. */
export interface CaHome {
  readonly shape: Shape['name'];
  /** Such as `machine.ca` or `KubeAPIServerCAConfig.issuingCA`. */
  readonly path: string;
  readonly issuing: IssuingCa | undefined;
  /** The accepted list; absent where the shape has none (the aggregator CA before 1.14, etcd). */
  readonly accepted: AcceptedList | undefined;
}

/** The CA that signs, or on a worker the one whose signatures are trusted first. */
export interface IssuingCa {
  readonly certificates: readonly Certificate[];
  /** False where the field is absent or empty, as on workers. */
  readonly hasKey: boolean;
  /** 1-based line of the certificate. */
  readonly line: number;
  /**
   * Of the public half of the key, or undefined where there is none.
   *
   * @throws {MachineConfigError} `bad-value` for what is no private key.
   */
  keyFingerprint(): Fingerprint | undefined;
  /** Puts a certificate, and a key where the machine holds one, in place. */
  set(pem: string, key: PrivateKeyPem | undefined): Edit[];
  /** Ends the certificate with a newline where it lacks one. */
  terminate(): Edit[];
}

/** A list of accepted certificates or keys, present or not. */
export interface AcceptedList {
  readonly path: string;
  readonly entries: Entries;
  /** Makes the list hold what is arranged; entries that stay keep their bytes. */
  arrange(arrangement: Arrangement): Edit[];
}

/** Where to look for a CA. */
export interface CaLocation {
  readonly shape: Shape;
  /** The mapping that holds both fields. */
  readonly map: YAMLMap;
  /** Its name, such as `machine`. */
  readonly path: string;
  readonly issuingKey: string;
  /** Undefined where the shape has no accepted list. */
  readonly acceptedKey: string | undefined;
}

/** Reads a CA where it lives. @throws {MachineConfigError} for values that are not what belongs there. */
export function readCaHome(access: Access, location: CaLocation): CaHome {
  const { shape, map, path, issuingKey, acceptedKey } = location;
  return {
    shape: shape.name,
    path: `${path}.${issuingKey}`,
    issuing: readIssuing(access, location),
    accepted:
      acceptedKey === undefined
        ? undefined
        : readList(access, {
            shape,
            map,
            key: acceptedKey,
            path: `${path}.${acceptedKey}`,
            after: issuingKey,
            blocksOf: (field, pem) => certificatesIn(access, field, pem).map(blockOf),
          }),
  };
}

/** A certificate as a block of a list. */
export function blockOf(certificate: Certificate): Block {
  return { id: certificate.fingerprint, pem: certificate.pem, certificate };
}

function readIssuing(access: Access, { shape, map, path, issuingKey }: CaLocation): IssuingCa | undefined {
  const base = `${path}.${issuingKey}`;
  const parent = access.fields.map(map, issuingKey, base);
  if (parent === undefined) return undefined;
  const certificatePath = `${base}.${shape.certificateKey}`;
  const scalar = access.fields.scalar(parent, shape.certificateKey, certificatePath);
  const keyScalar = access.fields.scalar(parent, 'key', `${base}.key`);
  const keyField =
    keyScalar === undefined || keyScalar.value === '' ? undefined : { scalar: keyScalar, path: `${base}.key` };
  if (scalar === undefined || scalar.value === '') {
    if (keyField === undefined) return undefined;
    const place = placeAt(access.config, keyField.scalar.range[0], certificatePath);
    throw new MachineConfigError('missing-value', 'a CA key without its certificate', place);
  }
  const field: ScalarField = { scalar, path: certificatePath };
  const pem = shape.read(access, field);
  return {
    certificates: certificatesIn(access, field, pem),
    hasKey: keyField !== undefined,
    keyFingerprint: () =>
      keyField === undefined
        ? undefined
        : access.once(keyField.path, () => keyFingerprintIn(access, keyField, shape.read(access, keyField))),
    line: placeAt(access.config, scalar.range[0]).line ?? 1,
    set: (next, key) => [
      ...access.changes.setScalar(scalar, shape.write(next)),
      ...(key === undefined || keyField === undefined
        ? []
        : access.changes.setScalar(keyField.scalar, shape.write(key.expose()))),
    ],
    terminate: () => (pem.endsWith('\n') ? [] : access.changes.setScalar(scalar, shape.write(`${pem}\n`))),
  };
}

/** Where to look for a list. */
export interface ListLocation {
  readonly shape: Shape;
  /** The mapping that holds the list; undefined where it is not there yet. */
  readonly map: YAMLMap | undefined;
  readonly key: string;
  readonly path: string;
  /** The field behind which the list is made where there is none. */
  readonly after: string;
  readonly blocksOf: (field: ScalarField, pem: string) => Block[];
  /** Replaces the ways to create and remove the list, for one that lives a level deeper. */
  readonly create?: (values: readonly ReturnType<Shape['item']>[]) => Edit[];
  readonly remove?: () => Edit[];
}

interface ListEntry {
  readonly scalar: Scalar.Parsed;
  readonly blocks: readonly Block[];
  readonly isTerminated: boolean;
}

/** Reads a list of accepted certificates or keys. @throws {MachineConfigError} for a broken entry. */
export function readList(access: Access, location: ListLocation): AcceptedList {
  const { shape, map, key, path } = location;
  const list = map && access.fields.list(map, key, path);
  const entries = (list?.items ?? []).map((item, position): ListEntry => {
    const field = shape.itemField(access, item as ParsedNode, `${path}[${position}]`);
    const pem = shape.read(access, field);
    return { scalar: field.scalar, blocks: location.blocksOf(field, pem), isTerminated: pem.endsWith('\n') };
  });
  return {
    path,
    entries: entries.map(({ blocks }) => blocks),
    arrange: (arrangement) => arrange(access, location, { list, entries }, arrangement),
  };
}

function arrange(
  access: Access,
  location: ListLocation,
  { list, entries }: { readonly list: YAMLSeq | undefined; readonly entries: readonly ListEntry[] },
  arrangement: Arrangement,
): Edit[] {
  const { shape, map, key, after } = location;
  const { changes } = access;
  const added = arrangement.added.map(({ pem }) => shape.item(pem));
  const removed = new Set<number>();
  const edits: Edit[] = [];
  for (const [position, entry] of entries.entries()) {
    const next = arrangement.entries[position] ?? [];
    const isSame = next.length === entry.blocks.length && next.every(({ id }, index) => id === entry.blocks[index]?.id);
    if (next.length === 0) removed.add(position);
    else if (!isSame || !entry.isTerminated) {
      edits.push(...changes.setScalar(entry.scalar, shape.write(next.map(({ pem }) => pem).join(''))));
    }
  }
  const remaining = entries.length - removed.size + added.length;
  // An empty list in brackets that someone wrote stays an empty list; one without brackets cannot be written.
  const keepsBrackets = list?.flow === true && map?.flow !== true;
  // A field with nothing behind its colon is no list yet.
  const clear = map === undefined ? [] : changes.removeField(map, key);
  if (remaining === 0 && !keepsBrackets) return location.remove?.() ?? clear;
  if (list === undefined) {
    const create =
      location.create ?? ((values) => (map === undefined ? [] : changes.addField(map, after, key, values)));
    return [...clear, ...create(added)];
  }
  edits.push(...changes.removeItems(list, removed));
  edits.push(...changes.addItems(list, entries.length, added));
  return edits;
}

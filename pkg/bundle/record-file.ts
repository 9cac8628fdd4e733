import { createHash } from 'node:crypto';
import { isMap, isScalar, type ParsedNode, type YAMLMap } from 'yaml';
import type { Fingerprint } from '../pki/index.ts';
import { BundleError, type Place } from './error.ts';
import type { PlacedPem } from './material.ts';
import { parseSource, type Source, type Value, valueAt } from './source.ts';
import { decodeBase64 } from './values.ts';

/** The version of both record formats that is written, and the newest that is read. */
export const RECORD_VERSION = 1;

/** A record as text, before its entries mean anything. */
export interface RecordFile {
  readonly source: Source;
  readonly operation: string | undefined;
  readonly checksum: Value;
  /** The entries by their key in the file, in the order of the file. */
  readonly entries: ReadonlyMap<string, YAMLMap>;
}

/** The frame that both kinds of record have around their entries. */
export interface RecordFrame {
  /** A comment for the person who finds the file. */
  readonly about: string;
  /** The keys that may stand at the top besides version, operation and checksum, with the fields of each. */
  readonly entries: Readonly<Record<string, readonly string[]>>;
}

const FRAME_KEYS = ['version', 'operation', 'checksum'];

/**
 * Reads the frame of a record. The schema is closed: a key that is not known is refused, because a record that means
 * more than is understood must not be acted on. The version is looked at first.
 */
export function parseRecordFile(text: string, where: string, frame: RecordFrame): RecordFile {
  const source = parseSource(text, where);
  const version = required(source, ['version']);
  if (!/^[1-9][0-9]{0,8}$/.test(version.text)) throw refuse(source, version, 'malformed', 'is no version; expected 1');
  if (Number(version.text) > RECORD_VERSION) {
    const problem = `is ${version.text}: written by a newer Ichor; this one reads up to ${RECORD_VERSION}. Go on with the newer one`;
    throw refuse(source, version, 'newer-version', problem);
  }
  const known = Object.keys(frame.entries);
  refuseUnknown(source, source.root, [...FRAME_KEYS, ...known], '');
  const entries = new Map<string, YAMLMap>();
  for (const pair of source.root.items) {
    const name = String(isScalar(pair.key) ? pair.key.value : pair.key);
    const fields = frame.entries[name];
    if (fields === undefined) continue;
    if (!isMap(pair.value)) {
      throw new BundleError(
        'malformed',
        { path: where, line: lineOfNode(source, pair.key), field: name },
        'is no mapping',
      );
    }
    refuseUnknown(source, pair.value, fields, `${name}.`);
    entries.set(name, pair.value);
  }
  if (entries.size === 0) {
    throw new BundleError(
      'missing',
      { path: where, line: 1 },
      `names nothing to replace; expected one of ${known.join(', ')}`,
    );
  }
  const operation = valueAt(source, source.root, ['operation'])?.text;
  return { source, operation, checksum: required(source, ['checksum']), entries };
}

/** One field of an entry, which must be there. */
export function entryField(file: RecordFile, entry: string, field: string): Value {
  const map = file.entries.get(entry);
  const value = map === undefined ? undefined : valueAt(file.source, map, [field], `${entry}.`);
  if (value !== undefined) return value;
  const at = { path: file.source.path, line: lineOfNode(file.source, map), field: `${entry}.${field}` };
  throw new BundleError('missing', at, 'is missing or empty: the record is damaged. Restore it from a copy');
}

/** A PEM text that an entry holds as base64. */
export function pemField(file: RecordFile, entry: string, field: string): PlacedPem {
  const value = entryField(file, entry, field);
  const at = placeOfValue(file, value);
  return { pem: decodeBase64(value.text, (problem) => new BundleError('malformed', at, problem)).toString('utf8'), at };
}

/** A fingerprint that an entry holds. */
export function fingerprintField(file: RecordFile, entry: string, field: string): Fingerprint {
  const value = entryField(file, entry, field);
  if (/^[0-9a-f]{64}$/.test(value.text)) return value.text as Fingerprint;
  throw new BundleError('malformed', placeOfValue(file, value), 'is no fingerprint; expected 64 hexadecimal digits');
}

/** The place of a value, for an error. */
export function placeOfValue(file: RecordFile, value: Value): Place {
  return { path: file.source.path, line: value.line, field: value.field };
}

/** Refuses a record whose public parts do not add up to its checksum: an entry was lost, added or exchanged. */
export function checkChecksum(file: RecordFile, lines: readonly string[]): void {
  if (file.checksum.text === checksumOf(file.operation, lines)) return;
  throw refuse(
    file.source,
    file.checksum,
    'mismatch',
    'does not fit the entries: the record was changed or cut off after it was written. Restore it from a copy',
  );
}

/** Writes a record; the same record gives the same text. */
export function writeRecordFile(
  frame: RecordFrame,
  record: { readonly operation: string | undefined; readonly checksumLines: readonly string[] },
  entries: readonly (readonly [string, Readonly<Record<string, string>>])[],
): string {
  const { operation, checksumLines } = record;
  const lines = [
    `# ${frame.about}`,
    '# Do not edit or delete it while the operation is under way: the keys exist nowhere else.',
    `version: ${RECORD_VERSION}`,
    ...(operation === undefined ? [] : [`operation: ${JSON.stringify(operation)}`]),
    `checksum: ${checksumOf(operation, checksumLines)}`,
  ];
  for (const [name, fields] of entries) {
    lines.push(`${name}:`, ...Object.entries(fields).map(([field, value]) => `    ${field}: ${value}`));
  }
  return `${lines.join('\n')}\n`;
}

function checksumOf(operation: string | undefined, lines: readonly string[]): string {
  const all = [`version ${RECORD_VERSION}`, `operation ${operation ?? ''}`, ...lines];
  return createHash('sha256')
    .update(all.map((line) => `${line}\n`).join(''))
    .digest('hex');
}

function required(source: Source, path: readonly string[]): Value {
  const value = valueAt(source, source.root, path);
  if (value !== undefined) return value;
  throw new BundleError(
    'missing',
    { path: source.path, line: 1, field: path.join('.') },
    'is missing; this is no rotation record, or it is damaged',
  );
}

function refuseUnknown(source: Source, map: YAMLMap, known: readonly string[], prefix: string): void {
  for (const pair of map.items) {
    const name = String(isScalar(pair.key) ? pair.key.value : pair.key);
    if (known.includes(name)) continue;
    const at = { path: source.path, line: lineOfNode(source, pair.key), field: prefix + name };
    throw new BundleError('malformed', at, `is not known here; expected ${known.join(', ')}`);
  }
}

function refuse(
  source: Source,
  value: Value,
  kind: 'malformed' | 'newer-version' | 'mismatch',
  problem: string,
): BundleError {
  return new BundleError(kind, { path: source.path, line: value.line, field: value.field }, problem);
}

function lineOfNode(source: Source, node: unknown): number {
  return source.lineOf((node as ParsedNode | undefined)?.range?.[0] ?? 0);
}

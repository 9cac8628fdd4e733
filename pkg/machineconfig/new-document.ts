import type { Access } from './access.ts';
import type { Edit } from './yaml/edits.ts';
import { fieldLines, type Value } from './yaml/emit.ts';

/** The documents that a move may create, in the order in which Talos itself writes them. */
const ORDER = ['KubeAggregatorCAConfig', 'KubeEtcdEncryptionConfig', 'KubeServiceAccountConfig'] as const;

/** A kind of document that can take over fields of the old document. */
export type MovableKind = (typeof ORDER)[number];

/** Whether an edit adds a document at the end of the text, which then has to end in a newline. */
export function isAppendedDocument({ start, text }: Edit, length: number): boolean {
  return start === length && text.startsWith('---');
}

/**
 * Adds a typed document: before the first existing one that Talos writes later,
 * else at the end, so that several moves give the same text in any order.
 */
export function addDocument({ config }: Access, kind: MovableKind, fields: Readonly<Record<string, Value>>): Edit {
  const { text, eol } = config;
  const lines = Object.entries({ apiVersion: 'v1alpha1', kind, ...fields }).flatMap(([key, value]) =>
    fieldLines(key, value, { indent: 0, step: 4 }),
  );
  const body = lines.join(eol) + eol;
  const later: readonly string[] = ORDER.slice(ORDER.indexOf(kind) + 1);
  const next = config.documents.find((document) => later.includes(document.kind));
  if (next === undefined) return { start: text.length, end: text.length, text: `---${eol}${body}` };
  const hasMarker = text.startsWith('---', next.start);
  return { start: next.start, end: next.start, text: hasMarker ? `---${eol}${body}` : `${body}---${eol}` };
}

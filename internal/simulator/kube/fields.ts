import { once } from './shared.ts';

/** A value inside an object by a path such as `spec.nodeName`; undefined where there is none. */
export function fieldOf(object: unknown, path: string): unknown {
  let value = object;
  for (const part of partsOf(path)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[part];
  }
  return value;
}

const partsOf = once((path) => path.split('.'));

/** The same as text; empty where there is none, as field selectors see it. */
export function textOf(object: unknown, path: string): string {
  const value = fieldOf(object, path);
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** The same as a list; empty where there is none. */
export function listOf<T = Readonly<Record<string, unknown>>>(object: unknown, path: string): readonly T[] {
  const value = fieldOf(object, path);
  return Array.isArray(value) ? (value as T[]) : [];
}

/** Whether a value is an object with fields. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

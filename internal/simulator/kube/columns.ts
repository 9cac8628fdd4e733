import { type KubeObject, parseTime } from '../../../pkg/kube/index.ts';
import { textOf } from './fields.ts';
import type { Column } from './resource.ts';

/** The first column of everything. */
export const NAME_COLUMN: Column = {
  name: 'Name',
  type: 'string',
  isName: true,
  value: ({ metadata }) => metadata.name,
};

/** How long an object has been there. */
export const AGE_COLUMN: Column = column('Age', ({ metadata }, now) => ageOf(metadata.creationTimestamp, now));

/** A column of text. */
export function column(name: string, value: (object: KubeObject, now: number) => string | number): Column {
  return { name, type: 'string', value };
}

/** The same, only with `-o wide`. */
export function wide(name: string, value: (object: KubeObject, now: number) => string | number): Column {
  return { name, type: 'string', wide: true, value };
}

/** The text at a path, `<none>` where there is none. */
export function textColumn(name: string, path: string): Column {
  return column(name, (object) => textOf(object, path) || '<none>');
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The time since a moment in the words of kubectl: two units at most, the coarser the longer it is. */
export function ageOf(at: string | undefined, now: number): string {
  const since = parseTime(at);
  if (since === undefined) return '<unknown>';
  const seconds = Math.max(0, Math.floor((now - since) / 1_000));
  const two = (big: number, bigUnit: string, small: number, smallUnit: string): string => {
    const rest = Math.floor((seconds % big) / small);
    return `${Math.floor(seconds / big)}${bigUnit}${rest === 0 ? '' : `${rest}${smallUnit}`}`;
  };
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return two(MINUTE, 'm', 1, 's');
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return two(HOUR, 'h', MINUTE, 'm');
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return two(DAY, 'd', HOUR, 'h');
  if (seconds < 2 * 365 * DAY) return `${Math.floor(seconds / DAY)}d`;
  return two(365 * DAY, 'y', DAY, 'd');
}

/**
 * Kubernetes writes times as text in two forms: `Time` with whole seconds and `MicroTime` with six decimals (Leases,
 * event times). A `Date` is refused for the latter with 400, so both ways are text here and milliseconds elsewhere.
 */

const TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

/** `2026-11-05T12:00:00Z`; milliseconds are cut off, as Kubernetes does. */
export function toTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** `2026-11-05T12:00:00.250000Z`. */
export function toMicroTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}

/**
 * Milliseconds since the epoch of either form, digits below a millisecond cut off.
 * `undefined` for `null`, `undefined` and the empty text, which Kubernetes uses for "never".
 * Throws a RangeError for anything that is not an RFC 3339 time.
 */
export function parseTime(text: string | null | undefined): number | undefined {
  if (text === undefined || text === null || text === '') return undefined;
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const match = TIME.exec(text);
  const ms = match === null ? Number.NaN : Date.parse(withMilliseconds(match));
  if (Number.isNaN(ms)) throw new RangeError(`"${text}" is not an RFC 3339 time`);
  if (parsed.size >= REMEMBERED) parsed.clear();
  parsed.set(text, ms);
  return ms;
}

/** So many texts are remembered, then all are forgotten: whoever watches a cluster reads nearly the same ones at every look. */
const REMEMBERED = 5_000;
const parsed = new Map<string, number>();

function withMilliseconds([, seconds, fraction = '', zone]: RegExpExecArray): string {
  return `${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}${zone}`;
}

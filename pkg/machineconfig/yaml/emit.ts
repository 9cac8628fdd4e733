/** A value to write: text, a list or fields in order. */
export type Value = string | readonly Value[] | { readonly [key: string]: Value };

/** How block style is laid out. */
export interface Layout {
  /** Spaces before the lines. */
  readonly indent: number;
  /** Spaces that a level adds. */
  readonly step: number;
}

/** The lines of `key: value` in block style, without line ends. PEM and other texts of several lines become literal blocks. */
export function fieldLines(key: string, value: Value, layout: Layout): string[] {
  const pad = ' '.repeat(layout.indent);
  const inner = { ...layout, indent: layout.indent + layout.step };
  if (typeof value === 'string') return scalarLines(`${pad}${key}: `, value, inner.indent);
  if (isEmpty(value)) return [`${pad}${key}: ${flow(value)}`];
  return [`${pad}${key}:`, ...valueLines(value, inner)];
}

/** The lines of one list item in block style, its dash at `layout.indent`. */
export function itemLines(value: Value, layout: Layout): string[] {
  const pad = ' '.repeat(layout.indent);
  if (typeof value === 'string') return scalarLines(`${pad}- `, value, layout.indent + 2);
  if (isEmpty(value)) return [`${pad}- ${flow(value)}`];
  // The first line moves up beside the dash.
  const [first = '', ...rest] = valueLines(value, { ...layout, indent: layout.indent + 2 });
  return [`${pad}- ${first.trimStart()}`, ...rest];
}

/** A value in flow style, which is JSON: valid in every place that flow style can be in. */
export function flow(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(flow).join(', ')}]`;
  return `{${Object.entries(value)
    .map(([key, each]) => flowField(key, each))
    .join(', ')}}`;
}

/** One field in flow style. */
export function flowField(key: string, value: Value): string {
  return `${JSON.stringify(key)}: ${flow(value)}`;
}

/** One-line text as a plain scalar where every reader takes that for text, else quoted. */
export function plainOrQuoted(text: string): string {
  return isSafePlain(text) ? text : JSON.stringify(text);
}

/** Whether a plain scalar means this very text to YAML 1.1 and 1.2 readers, in block and in flow style. */
export function isSafePlain(text: string): boolean {
  if (!/^[A-Za-z0-9+/][A-Za-z0-9+/=_.-]*(?::\/\/[A-Za-z0-9/][A-Za-z0-9:/=_.-]*[A-Za-z0-9/=_-])?$/.test(text))
    return false;
  if (/^(?:true|false|yes|no|on|off|y|n|null|nan|inf)$/i.test(text)) return false;
  // Numbers, dates and times begin with a digit or a sign; base64 of a key is longer and mixed, or ends in =.
  return !/^[-+.0-9][-+.0-9_:xobXOBeEaAcCdDfFtTzZ]*$/.test(text);
}

/** The lines of a literal block's content. */
export function literalContent(text: string, indent: number): string[] {
  const pad = ' '.repeat(indent);
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => (line === '' ? '' : pad + line));
}

function valueLines(value: Exclude<Value, string>, layout: Layout): string[] {
  if (isList(value)) return value.flatMap((each) => itemLines(each, layout));
  return Object.entries(value).flatMap(([key, each]) => fieldLines(key, each, layout));
}

function scalarLines(before: string, text: string, indent: number): string[] {
  if (!text.includes('\n')) return [before + plainOrQuoted(text)];
  // A literal block says "text with a newline at its end"; anything else is quoted.
  if (!/[^\n]\n$/.test(text) || /^\s/.test(text)) return [before + JSON.stringify(text)];
  return [`${before}|`, ...literalContent(text, indent)];
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function isEmpty(value: Exclude<Value, string>): boolean {
  return isList(value) ? value.length === 0 : Object.keys(value).length === 0;
}

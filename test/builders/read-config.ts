import { parseAllDocuments } from 'yaml';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it names
export type Fields = any;

/** The documents of a machine configuration as a plain YAML reader sees them: the old one as `old`, the others by kind. */
export function documentsOf(config: string): Record<string, Fields> {
  const all = parseAllDocuments(config, { intAsBigInt: true }).map((document) => document.toJS() as Fields);
  return Object.fromEntries(all.map((each) => [each.kind ?? 'old', each]));
}

/** How something is refused: kind, field and words; `undefined` where it is not. */
export function configRefusal(
  render: () => unknown,
): { readonly kind: string; readonly field: string | undefined; readonly message: string } | undefined {
  try {
    render();
  } catch (error) {
    const { kind, field, message } = error as { kind: string; field?: string; message: string };
    return { kind, field, message };
  }
  return undefined;
}

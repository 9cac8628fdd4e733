import { type Document, parseAllDocuments, stringify } from 'yaml';

/** The documents of a machine configuration, to be changed in place. */
export interface ConfigDocuments {
  /** The old document, which every configuration has; in the legacy shape it holds everything. */
  readonly main: Document;
  /** The typed document of that kind; `undefined` where there is none. */
  of(kind: string): Document | undefined;
  add(document: { readonly kind: string } & Readonly<Record<string, unknown>>): void;
}

/** The text of a configuration after changes to its documents; their comments stay. */
export function editDocuments(text: string, edit: (documents: ConfigDocuments) => void): string {
  const documents = parseAllDocuments(text) as Document[];
  const main = documents.find((document) => document.get('version') === 'v1alpha1');
  if (main === undefined) throw new Error('the configuration has no document with version v1alpha1');
  const added: string[] = [];
  edit({
    main,
    of: (kind) => documents.find((document) => document.get('kind') === kind),
    add: (document) => added.push(stringify({ apiVersion: 'v1alpha1', ...document }, { lineWidth: 0 })),
  });
  const texts = documents.map((document) => document.toString({ lineWidth: 0, directives: false }));
  return [...texts, ...added].map((each) => each.replace(/^---\n/, '')).join('---\n');
}

/** Where a value is in the typed documents, and where in the legacy one. */
interface Home {
  readonly kind: string;
  readonly typed: readonly string[];
  readonly legacy: readonly string[];
}

const HOMES = {
  endpoint: { kind: 'KubeClusterConfig', typed: ['endpoint'], legacy: ['cluster', 'controlPlane', 'endpoint'] },
  apiServerSans: {
    kind: 'KubeAPIServerConfig',
    typed: ['certExtraSANs'],
    legacy: ['cluster', 'apiServer', 'certSANs'],
  },
  kubePrismPort: { kind: 'KubePrismConfig', typed: ['port'], legacy: ['machine', 'features', 'kubePrism', 'port'] },
} satisfies Record<string, Home>;

/** Sets a value where the configuration, whichever shape it has, holds it. */
export function setValue(documents: ConfigDocuments, name: keyof typeof HOMES, value: unknown): void {
  const { kind, typed, legacy } = HOMES[name];
  const document = documents.of(kind);
  if (document === undefined) documents.main.setIn(legacy, documents.main.createNode(value));
  else document.setIn(typed, document.createNode(value));
}

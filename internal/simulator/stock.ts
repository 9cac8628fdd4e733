import {
  type BundleDocument,
  parseRotationRecord,
  type RotationRecord,
  type SecretsBundle,
} from '../../pkg/bundle/index.ts';
import { fromKubeconfig, type KubeClientOptions } from '../../pkg/kube/index.ts';
import { type Change, readApiServerPort, renderStage } from '../../pkg/machineconfig/index.ts';
import { Secret } from '../../pkg/pki/index.ts';
import {
  type ConfigReader,
  createConfigReader,
  digestOf,
  type EngineOptions,
  type Readers,
} from '../controller/index.ts';
import type { Mint } from './mint.ts';

/** What every world over one mint shares: the same configurations come up in all of them. */
export interface Stock {
  readonly configs: ConfigReader;
  readonly render: NonNullable<EngineOptions['render']>;
  readonly readers: Readers;
  readonly texts: Texts;
  readonly documents: Documents;
}

/** The store's documents: each is read, and brought into its next form, once. */
export interface Documents {
  record(text: string, bundle: SecretsBundle): RotationRecord;
  replaced(document: BundleDocument, replacements: Replacements): BundleDocument;
}

type Replacements = Parameters<BundleDocument['replace']>[0];

/** The forms in which a machine hands out its configuration; each text is brought into them once. */
export interface Texts {
  secret(config: string): Secret<'machine-config'>;
  bytes(config: string): Buffer;
  digest(config: string): string;
}

const stocks = new WeakMap<Mint, Stock>();

/** The stock of a mint. */
export function stockOf(mint: Mint): Stock {
  const kept = stocks.get(mint);
  if (kept !== undefined) return kept;
  const texts = createTexts();
  const configs = createConfigReader(KEPT, texts.digest);
  const stock: Stock = {
    configs,
    render: createRenderer(),
    readers: createReaders(),
    texts,
    documents: createDocuments(),
  };
  stocks.set(mint, stock);
  return stock;
}

/** So many rendered configurations are kept, then all are forgotten. */
const KEPT = 4_000;

/** Renders as the product does, each combination once. */
function createRenderer(): Stock['render'] {
  const rendered = new Map<string, Map<string, string>>();
  return (config, changes, stage, options) => {
    const pairs = changes.map((change) => (isOfCa(change) ? printsOf(change) : undefined));
    if (pairs.includes(undefined)) return renderStage(config, changes, stage, options);
    if (rendered.size >= KEPT) rendered.clear();
    const known = rendered.get(config) ?? new Map<string, string>();
    const key = JSON.stringify([pairs, stage, options.talosVersion]);
    const text = known.get(key) ?? renderStage(config, changes, stage, options);
    rendered.set(config, known.set(key, text));
    return text;
  };
}

/** Reads as the product does, each text once. */
function createReaders(): Readers {
  const read = new Map<string, Map<string, Promise<KubeClientOptions>>>();
  const ports = new Map<string, number>();
  return {
    kubeconfig(text, options = {}) {
      const known = read.get(text) ?? new Map<string, Promise<KubeClientOptions>>();
      const key = JSON.stringify(options);
      const reading = known.get(key) ?? fromKubeconfig(text, options);
      if (read.size >= KEPT) read.clear();
      read.set(text, known.set(key, reading));
      return reading;
    },
    apiServerPort(config, where) {
      const port = ports.get(config) ?? readApiServerPort(config, where);
      if (ports.size >= KEPT) ports.clear();
      ports.set(config, port);
      return port;
    },
  };
}

function createTexts(): Texts {
  const known = new Map<
    string,
    { readonly secret: Secret<'machine-config'>; readonly bytes: Buffer; digest: string }
  >();
  function formsOf(config: string) {
    const kept = known.get(config);
    if (kept !== undefined) return kept;
    const forms = { secret: Secret.of('machine-config', config), bytes: bytesOf(config), digest: digestOf(config) };
    if (known.size >= KEPT) known.clear();
    known.set(config, forms);
    return forms;
  }
  return {
    secret: (config) => formsOf(config).secret,
    bytes: (config) => formsOf(config).bytes,
    digest: (config) => formsOf(config).digest,
  };
}

/** Bytes that are not decoded again by whoever wants the text that they were made of. */
function bytesOf(config: string): Buffer {
  const bytes = Buffer.from(config);
  const decode = bytes.toString.bind(bytes);
  bytes.toString = (encoding, start, end) =>
    encoding === 'utf8' && start === undefined ? config : decode(encoding, start, end);
  return bytes;
}

function createDocuments(): Documents {
  const records = new WeakMap<SecretsBundle, Map<string, RotationRecord>>();
  const documents = new WeakMap<BundleDocument, Map<string, BundleDocument>>();
  return {
    record(text, bundle) {
      const known = records.get(bundle) ?? new Map<string, RotationRecord>();
      const record = known.get(text) ?? parseRotationRecord(text, 'rotation.yaml', bundle);
      records.set(bundle, known.set(text, record));
      return record;
    },
    replaced(document, replacements) {
      const known = documents.get(document) ?? new Map<string, BundleDocument>();
      const prints = Object.values(replacements).map((next) =>
        'certificate' in next ? next.certificate.fingerprint : undefined,
      );
      if (prints.includes(undefined)) return document.replace(replacements);
      const key = prints.join();
      const next = known.get(key) ?? document.replace(replacements);
      documents.set(document, known.set(key, next));
      return next;
    },
  };
}

function isOfCa(change: Change): change is Extract<Change, { old: { certificate: unknown } }> {
  return 'certificate' in change.old;
}

function printsOf(change: Extract<Change, { old: { certificate: unknown } }>): readonly string[] {
  return [change.target, change.old.certificate.fingerprint, change.new.certificate.fingerprint];
}

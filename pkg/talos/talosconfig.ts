import { isScalar, parseDocument, stringify } from 'yaml';
import {
  type Certificate,
  type CertificateAndKey,
  parseCertificate,
  parseCertificates,
  parsePrivateKey,
  writeCertificates,
} from '../pki/index.ts';

/** One context of a talosconfig. */
export interface TalosContext {
  readonly endpoints: readonly string[];
  readonly nodes: readonly string[];
  /** Several during a rotation. Empty when the context has none. */
  readonly trust: readonly Certificate[];
  /** `undefined` for contexts that authenticate in another way. */
  readonly credentials: CertificateAndKey | undefined;
  /** Whatever else the context holds (`auth`, `cluster`, `proxy-url`, …), kept as it is. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** The file that talosctl uses: named contexts, one of them selected. */
export interface Talosconfig {
  /** Empty when none is selected. */
  readonly context: string;
  readonly contexts: Readonly<Record<string, TalosContext>>;
}

/** A talosconfig that cannot be used: which file, which context, what is wrong. Never quotes the file. */
export class TalosconfigError extends Error {
  constructor(where: string, detail: string) {
    super(`talosconfig ${where}: ${detail}`);
    this.name = 'TalosconfigError';
  }
}

/**
 * Reads a talosconfig (pkg/machinery/client/config).
 *
 * @param where path of the file, for messages
 * @throws {TalosconfigError}
 */
export function parseTalosconfig(text: string, where: string): Talosconfig {
  const document = parseDocument(text);
  // A YAML error quotes the line; in this file that may be a key.
  const [error] = document.errors;
  if (error !== undefined) {
    throw new TalosconfigError(where, `is not YAML (line ${error.linePos?.[0].line ?? '?'}: ${error.code})`);
  }
  const raw: unknown = document.contents === null || isScalar(document.contents) ? undefined : document.toJS();
  if (!isRecord(raw)) throw new TalosconfigError(where, 'is empty; expected "context" and "contexts"');
  const contexts = isRecord(raw.contexts) ? raw.contexts : {};
  return {
    context: typeof raw.context === 'string' ? raw.context : '',
    contexts: Object.fromEntries(
      Object.entries(contexts).map(([name, context]) => [name, readContext(context, where, name)]),
    ),
  };
}

function readContext(raw: unknown, where: string, name: string): TalosContext {
  if (!isRecord(raw)) throw new TalosconfigError(where, `context "${name}" is not a mapping`);
  const { endpoints, nodes, ca, crt, key, ...rest } = raw;
  const label = (field: string) => `${where} context "${name}" ${field}`;
  return {
    endpoints: textList(endpoints),
    nodes: textList(nodes),
    trust: typeof ca === 'string' && ca !== '' ? parseCertificates(decodePem(ca), label('ca')) : [],
    credentials:
      typeof crt === 'string' && typeof key === 'string' && crt !== '' && key !== ''
        ? {
            certificate: parseCertificate(decodePem(crt), label('crt')),
            key: parsePrivateKey(decodePem(key), label('key')),
          }
        : undefined,
    rest,
  };
}

/** Writes it as talosctl does. The text holds private keys: 0600, see `writeTalosconfigFile`. */
export function writeTalosconfig(config: Talosconfig): string {
  const contexts = Object.entries(config.contexts).map(([name, context]) => [name, writeContext(context)]);
  return stringify({ context: config.context, contexts: Object.fromEntries(contexts) }, { lineWidth: 0, indent: 4 });
}

function writeContext(context: TalosContext): Record<string, unknown> {
  const { credentials } = context;
  return {
    endpoints: [...context.endpoints],
    ...(context.nodes.length > 0 && { nodes: [...context.nodes] }),
    ...(context.trust.length > 0 && { ca: encodePem(writeCertificates(context.trust)) }),
    ...(credentials !== undefined && {
      crt: encodePem(credentials.certificate.pem),
      key: encodePem(credentials.key.expose()),
    }),
    ...context.rest,
  };
}

/**
 * Adds the contexts of `other`. A name that is taken by a different context gets a
 * suffix (`name-1`, `name-2`, …), as `talosctl config merge` does; the selection
 * moves to the selected context of `other`.
 */
export function mergeTalosconfig(config: Talosconfig, other: Talosconfig): Talosconfig {
  const contexts: Record<string, TalosContext> = { ...config.contexts };
  let selected = config.context;
  for (const [name, context] of Object.entries(other.contexts)) {
    const free = freeName(contexts, name, context);
    contexts[free] = context;
    if (name === other.context) selected = free;
  }
  return { context: selected, contexts };
}

function freeName(contexts: Readonly<Record<string, TalosContext>>, name: string, context: TalosContext): string {
  const same = JSON.stringify(writeContext(context));
  for (let suffix = 0; ; suffix += 1) {
    const candidate = suffix === 0 ? name : `${name}-${suffix}`;
    const taken = contexts[candidate];
    if (taken === undefined || JSON.stringify(writeContext(taken)) === same) return candidate;
  }
}

/**
 * The context of that name, by default the selected one, with everything that is
 * needed to connect.
 *
 * @throws {TalosconfigError} naming the contexts that exist, or what is missing
 */
export function selectContext(
  config: Talosconfig,
  where: string,
  name: string = config.context,
): TalosContext & { readonly name: string; readonly credentials: CertificateAndKey } {
  const context = config.contexts[name];
  if (context === undefined) {
    const known = Object.keys(config.contexts).join(', ');
    throw new TalosconfigError(where, `has no context "${name}"; it has ${known === '' ? 'none' : known}`);
  }
  const { credentials, trust } = context;
  if (trust.length === 0) throw new TalosconfigError(where, `context "${name}" has no "ca"`);
  if (credentials === undefined) {
    throw new TalosconfigError(where, `context "${name}" has no client certificate ("crt" and "key")`);
  }
  return { ...context, name, credentials };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function decodePem(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

function encodePem(pem: string): string {
  return Buffer.from(pem, 'utf8').toString('base64');
}

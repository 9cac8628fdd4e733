import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { openBundle, type SecretsBundle } from '../../pkg/bundle/index.ts';

/** Every form in which a private key could have got out: text without line breaks, and its bytes in three spellings. */
function needlesOf(pem: string): string[] {
  const body = pem.replaceAll(/-----[^-]+-----|\s/g, '');
  const der = Buffer.from(body, 'base64');
  const middle = der.subarray(Math.floor(der.length / 3), Math.floor(der.length / 3) + 24);
  const base64OfPem = Buffer.from(pem).toString('base64');
  return [
    body.slice(Math.floor(body.length / 3), Math.floor(body.length / 3) + 32),
    middle.toString('hex'),
    middle.toString('latin1'),
    base64OfPem.slice(120, 160),
  ].filter((needle) => needle.length >= 16);
}

/** The private keys of a `secrets.yaml`. */
export async function keysOf(file: string): Promise<string[]> {
  const { bundle } = await openBundle(readFileSync(file), { path: file });
  return keysOfBundle(bundle);
}

function keysOfBundle(bundle: SecretsBundle): string[] {
  const authorities = [bundle.talos, bundle.kubernetes, bundle.etcd, bundle.aggregator];
  return [...authorities.map(({ key }) => key.expose()), bundle.serviceAccount.privateKey.expose()];
}

/** The places in `texts` that hold bytes of a key, by name; the bytes themselves are not repeated. */
export function findKeyBytes(texts: Readonly<Record<string, string>>, keys: readonly string[]): string[] {
  return Object.entries(texts).flatMap(([name, text]) => {
    const compact = text.replaceAll(/\\n|\s/g, '');
    const index = keys.findIndex((key) =>
      needlesOf(key).some((needle) => text.includes(needle) || compact.includes(needle)),
    );
    return index < 0 ? [] : [`${name} holds bytes of key ${index + 1}`];
  });
}

/** The beginning of a PEM in base64, as bundles, records, talosconfigs and kubeconfigs hold their keys. */
const BASE64_PEM = /LS0tLS1CRUdJTi[A-Za-z0-9+/=]+/g;

/** Every private key that the files of a cluster directory hold now; none of what is encrypted. */
export function keysIn(directory: string): string[] {
  const pems = filesIn(directory).flatMap(({ text }) => text.match(BASE64_PEM) ?? []);
  const keys = pems.map((pem) => Buffer.from(pem, 'base64').toString()).filter((pem) => pem.includes('PRIVATE KEY'));
  return [...new Set(keys)];
}

/** Files whose purpose is to hold keys, and temporary ones of theirs. */
const HOLDS_KEYS = /^(secrets|rotation|keyrotation|talosconfig|kubeconfig|archive|\.)/;

/** What is written for people to read: trail, operations, logs, reports; by name. */
export function writtenIn(directory: string): Record<string, string> {
  const written = filesIn(directory).filter(({ name }) => !HOLDS_KEYS.test(name));
  return Object.fromEntries(written.map(({ name, text }) => [name, text]));
}

function filesIn(directory: string): { readonly name: string; readonly text: string }[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      const text = textOf(path);
      return text === undefined ? [] : [{ name: relative(directory, path), text }];
    });
}

/** Nothing for a file that is gone by now: another `ichor` may be at work in the directory. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

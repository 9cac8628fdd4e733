import { readFileSync } from 'node:fs';
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

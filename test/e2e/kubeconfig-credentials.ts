import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { TrafficCredentials } from '../talos/traffic.ts';

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly 'certificate-authority-data': string } }[];
  readonly users: readonly {
    readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string };
  }[];
}

/** The credentials in a kubeconfig with one cluster and one user, as PEM texts. */
export function credentialsIn(file: string): TrafficCredentials {
  const { clusters, users } = parse(readFileSync(file, 'utf8')) as Kubeconfig;
  const text = (data: string | undefined) => Buffer.from(data ?? '', 'base64').toString('utf8');
  const user = users[0]?.user;
  return {
    ca: text(clusters[0]?.cluster['certificate-authority-data']),
    cert: text(user?.['client-certificate-data']),
    key: text(user?.['client-key-data']),
  };
}

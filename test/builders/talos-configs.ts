import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Change } from '../../pkg/machineconfig/index.ts';
import {
  type CertificateAndKey,
  createEncryptionKey,
  parseCertificate,
  parseEncryptionKey,
  parsePrivateKey,
  parseServiceAccountKey,
} from '../../pkg/pki/index.ts';
import { output } from '../support/run.ts';
import { toolPath } from '../tools/tools.ts';
import { type ClusterMaterial, changesBetween } from './machine-config.ts';

/** Version contracts that Ichor supports, oldest first. */
export const CONTRACTS = ['v1.9', 'v1.10', 'v1.11', 'v1.12', 'v1.13', 'v1.14'] as const;

/** What `talosctl gen secrets` and `gen config` make for one contract. */
export interface GeneratedCluster {
  readonly contract: string;
  readonly secretsPath: string;
  readonly material: ClusterMaterial;
  readonly controlplane: string;
  readonly worker: string;
}

/** Runs talosctl for one contract in `directory/contract`. */
export async function generateCluster(contract: string, directory: string): Promise<GeneratedCluster> {
  const folder = join(directory, contract);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const secretsPath = join(folder, 'secrets.yaml');
  await output(toolPath('talosctl'), ['gen', 'secrets', '--talos-version', contract, '-o', secretsPath, '--force']);
  return {
    contract,
    secretsPath,
    ...(await configsOf(contract, secretsPath, join(folder, 'out'))),
    material: readMaterial(secretsPath),
  };
}

/** Runs `talosctl gen config` on a bundle. */
export async function configsOf(
  contract: string,
  secretsPath: string,
  out: string,
): Promise<Pick<GeneratedCluster, 'controlplane' | 'worker'>> {
  await output(toolPath('talosctl'), [
    ...['gen', 'config', 'seed', 'https://10.0.0.9:6443', '--with-secrets', secretsPath],
    ...['--talos-version', contract, '--output', out, '--force'],
  ]);
  const read = (name: string) => readFileSync(join(out, `${name}.yaml`), 'utf8');
  return { controlplane: read('controlplane'), worker: read('worker') };
}

/** What a `secrets.yaml` of talosctl holds. */
export function readMaterial(secretsPath: string): ClusterMaterial {
  const { certs, secrets } = parse(readFileSync(secretsPath, 'utf8')) as {
    certs: Record<'os' | 'k8s' | 'etcd' | 'k8saggregator' | 'k8sserviceaccount', { crt: string; key: string }>;
    secrets: { secretboxencryptionsecret: string };
  };
  const text = (base64: string) => Buffer.from(base64, 'base64').toString();
  const pair = (each: { crt: string; key: string }): CertificateAndKey => ({
    certificate: parseCertificate(text(each.crt)),
    key: parsePrivateKey(text(each.key)),
  });
  return {
    talos: pair(certs.os),
    kubernetes: pair(certs.k8s),
    etcd: pair(certs.etcd),
    aggregator: pair(certs.k8saggregator),
    encryption: parseEncryptionKey('secretbox', 'key2', secrets.secretboxencryptionsecret),
    serviceAccount: parseServiceAccountKey(text(certs.k8sserviceaccount.key)),
  };
}

/** The changes from one generated cluster to another's material; the new encryption key gets a name of its own. */
export function rotationOf(before: ClusterMaterial, after: ClusterMaterial): Change[] {
  return changesBetween(before, { ...after, encryption: createEncryptionKey('secretbox', 'key3') });
}

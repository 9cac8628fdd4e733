import { randomBytes, randomInt } from 'node:crypto';
import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import { type BundleDocument, bundleFromParts } from '../../pkg/bundle/index.ts';
import { type CertificateAndKey, createCa, createServiceAccountKey, Secret } from '../../pkg/pki/index.ts';
import { type Placement, writeConfiguration } from '../simulator/index.ts';
import { KUBERNETES_PORT, type LabAddresses } from './addresses.ts';

/** Everything that a lab's machines begin with. */
export interface Blueprint {
  readonly clusterName: string;
  readonly bundle: BundleDocument;
  readonly placements: readonly Placement[];
}

/** How many machines, and of what. */
export interface BlueprintOptions {
  readonly controlPlanes: number;
  readonly workers: number;
  /** Version of Talos, `1.14.1`: decides the shape of the configurations. */
  readonly talosVersion: string;
  readonly addresses: LabAddresses;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Name of a lab's cluster. */
export const CLUSTER_NAME = 'lab';

/** A new cluster: new secrets, and a configuration for every machine as `talosctl gen config` lays it out. */
export async function newBlueprint(options: BlueprintOptions): Promise<Blueprint> {
  const bundle = await newBundle(options.now);
  return { clusterName: CLUSTER_NAME, bundle, placements: placementsOf(bundle, options) };
}

/** Machines of one bundle, with configurations of their own. */
export function placementsOf({ bundle }: BundleDocument, options: BlueprintOptions): Placement[] {
  const shape = Number(options.talosVersion.split('.')[1]) >= 14 ? 'typed' : 'legacy';
  return slotsOf(options).map(({ name, role, address }) => ({
    name,
    role,
    address,
    config: writeConfiguration({
      role,
      shape,
      bundle,
      hostname: name,
      clusterName: CLUSTER_NAME,
      endpoint: endpointUrl(options.addresses),
    }),
  }));
}

/** Names, roles and addresses, control planes first. */
export function slotsOf(
  options: Pick<BlueprintOptions, 'controlPlanes' | 'workers' | 'addresses'>,
): Omit<Placement, 'config'>[] {
  const { controlPlanes, workers, addresses } = options;
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
  return [
    ...numbers(controlPlanes).map((number) => ({
      name: `cp${number}`,
      role: 'controlplane' as const,
      address: addresses.controlPlane(number),
    })),
    ...numbers(workers).map((number) => ({
      name: `w${number}`,
      role: 'worker' as const,
      address: addresses.worker(number),
    })),
  ];
}

/** URL of the cluster's endpoint. */
export function endpointUrl({ endpoint }: LabAddresses): string {
  return `https://${endpoint}:${KUBERNETES_PORT}`;
}

/** New secrets, as `talosctl gen secrets` makes them. */
export async function newBundle(now: number): Promise<BundleDocument> {
  const cas = new Map<CaTarget, CertificateAndKey>();
  for (const target of CA_TARGETS) cas.set(target, await createCa(target, { now }));
  const ca = (target: CaTarget): CertificateAndKey => {
    const found = cas.get(target);
    if (found === undefined) throw new Error(`no CA was made for ${target}`);
    return found;
  };
  const parts = {
    clusterId: randomBytes(32).toString('base64url'),
    clusterSecret: Secret.of('cluster-secret', randomBytes(32).toString('base64')),
    bootstrapToken: Secret.of('token', newToken()),
    trustdToken: Secret.of('token', newToken()),
    secretboxEncryptionSecret: Secret.of('encryption-key', randomBytes(32).toString('base64')),
    talos: ca('talos'),
    kubernetes: ca('kubernetes'),
    etcd: ca('etcd'),
    aggregator: ca('kubernetes-aggregator'),
    // Talos takes RSA 4096 here, which takes seconds to make; nothing in a lab signs with it.
    serviceAccount: await createServiceAccountKey({ algorithm: 'ecdsa-p256' }),
  };
  return bundleFromParts(parts, { path: 'secrets.yaml' });
}

const TOKEN_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** A bootstrap token in the form of kubeadm, `abcdef.0123456789abcdef`. */
export function newToken(): string {
  const letters = (count: number): string =>
    Array.from({ length: count }, () => TOKEN_LETTERS[randomInt(TOKEN_LETTERS.length)]).join('');
  return `${letters(6)}.${letters(16)}`;
}

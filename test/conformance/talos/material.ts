import type { SecretsBundle } from '../../../pkg/bundle/index.ts';
import type { Change } from '../../../pkg/machineconfig/index.ts';
import { createCa, createEncryptionKey, createServiceAccountKey, parseEncryptionKey } from '../../../pkg/pki/index.ts';

/** What can be replaced. */
export type ChangeKind = Change['target'];

/** A change from what the cluster was made from to new material of the same kind. */
export async function changeOf(kind: ChangeKind, bundle: SecretsBundle): Promise<Change> {
  const now = Date.now();
  switch (kind) {
    case 'service-account':
      return { target: kind, old: bundle.serviceAccount, new: await createServiceAccountKey() };
    case 'etcd-encryption': {
      // The name under which Talos keeps the secret of its bundles; it is part of every stored value.
      const old = parseEncryptionKey('secretbox', 'key2', bundle.secretboxEncryptionSecret ?? '');
      return { target: kind, old, new: createEncryptionKey('secretbox', 'key3') };
    }
    case 'talos':
      return { target: kind, old: bundle.talos, new: await createCa(kind, { now }) };
    case 'kubernetes':
      return { target: kind, old: bundle.kubernetes, new: await createCa(kind, { now }) };
    case 'etcd':
      return { target: kind, old: bundle.etcd, new: await createCa(kind, { now }) };
    case 'kubernetes-aggregator':
      return { target: kind, old: bundle.aggregator, new: await createCa(kind, { now }) };
  }
}

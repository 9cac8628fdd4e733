import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import { caOf } from '../../../pkg/bundle/index.ts';
import type { Checker, Moment } from '../run.ts';
import { isDisturbed, issuerOf } from './material.ts';

/** S20: whatever machines show is signed by a CA whose key is held, and nothing of a bundle but its CAs ever changes: backups of etcd stay readable. */
export function recoverable(): Checker {
  return {
    property: 'S20 recoverable',
    check(moment) {
      const changed = changedBesides(moment);
      if (changed !== undefined) return `the bundle has another ${changed} than the cluster was born with`;
      return isDisturbed(moment) || moment.store.isDamaged ? undefined : withoutKey(moment);
    },
  };
}

function changedBesides({ world, store }: Moment): string | undefined {
  const born = world.bundle;
  const held = store.document.bundle;
  if (born === held) return undefined;
  if (held.clusterId !== born.clusterId) return 'cluster ID';
  if (held.clusterSecret.expose() !== born.clusterSecret.expose()) return 'cluster secret';
  if (held.secretboxEncryptionSecret?.expose() !== born.secretboxEncryptionSecret?.expose()) return 'encryption key';
  if (held.trustdToken.expose() !== born.trustdToken.expose()) return 'machine token';
  return undefined;
}

function withoutKey({ world, store }: Moment): string | undefined {
  for (const target of CA_TARGETS) {
    const held = new Set(
      [store.document.bundle, store.previous].flatMap((bundle) =>
        bundle === undefined ? [] : [caOf(bundle, target).certificate.fingerprint],
      ),
    );
    const next = world.mint.ca(target, 1);
    if (store.record?.includes(Buffer.from(next.key.expose()).toString('base64')) === true) {
      held.add(next.certificate.fingerprint);
    }
    for (const machine of world.machines()) {
      const issuer = issuerOf(machine, target);
      if (issuer !== undefined && !held.has(issuer))
        return `${machine.name} shows a ${target} leaf whose CA has no key here`;
    }
  }
  return undefined;
}

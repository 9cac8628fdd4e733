import { CA_TARGETS } from '../../../api/v1alpha1/index.ts';
import type { Checker, Moment } from '../run.ts';
import { issuerOf, keysHeld, pairOf } from './material.ts';

/** S20: whatever machines show is signed by a CA whose key is held, and nothing of a bundle but its CAs ever changes: backups of etcd stay readable. */
export function recoverable(): Checker {
  return {
    property: 'S20 recoverable',
    check(moment) {
      const changed = changedBesides(moment);
      if (changed !== undefined) return `the bundle has another ${changed} than the cluster was born with`;
      // Somebody took it away: nothing that we do brings it back.
      return moment.store.isDamaged ? undefined : withoutKey(moment);
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

function withoutKey(moment: Moment): string | undefined {
  const { bundle, previous, record } = keysHeld(moment);
  for (const target of CA_TARGETS) {
    const next = pairOf(moment, target).new;
    for (const machine of moment.world.machines()) {
      const issuer = issuerOf(machine, target);
      if (issuer === undefined || issuer === bundle[target] || issuer === previous?.[target]) continue;
      if (issuer === next && record.has(target)) continue;
      return `${machine.name} shows a ${target} leaf whose CA has no key here`;
    }
  }
  return undefined;
}

import type { Access } from '../access.ts';
import { MachineConfigError } from '../error.ts';
import type { CaChange, Change, EncryptionChange, ServiceAccountChange, Target, TargetRenderer } from '../model.ts';
import { etcd } from './etcd.ts';
import { etcdEncryption } from './etcd-encryption.ts';
import { kubernetes } from './kubernetes.ts';
import { kubernetesAggregator } from './kubernetes-aggregator.ts';
import { serviceAccount } from './service-account.ts';
import { talos } from './talos.ts';

/** Every target, in the order in which they are rendered. */
const RENDERERS = {
  talos,
  kubernetes,
  etcd,
  'kubernetes-aggregator': kubernetesAggregator,
  'etcd-encryption': etcdEncryption,
  'service-account': serviceAccount,
} satisfies Record<
  Target,
  TargetRenderer<CaChange> | TargetRenderer<EncryptionChange> | TargetRenderer<ServiceAccountChange>
>;

/** All targets, in the order in which they are rendered. */
export const TARGETS = Object.keys(RENDERERS) as readonly Target[];

/** The renderer of a change's target. */
export function rendererOf(change: Change): TargetRenderer<Change> {
  // The registry pairs each target with the renderer of its own kind of change.
  return RENDERERS[change.target] as TargetRenderer<Change>;
}

/** Changes in rendering order. @throws {MachineConfigError} `bad-change` for two changes of one target. */
export function inRenderingOrder(access: Access, changes: readonly Change[]): readonly Change[] {
  const targets = changes.map(({ target }) => target);
  const twice = targets.find((target, index) => targets.indexOf(target) !== index);
  if (twice !== undefined) {
    throw new MachineConfigError('bad-change', `two changes of ${twice} at once`, { where: access.config.where });
  }
  return [...changes].sort((a, b) => TARGETS.indexOf(a.target) - TARGETS.indexOf(b.target));
}

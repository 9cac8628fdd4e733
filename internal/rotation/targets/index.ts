import { CA_TARGETS, type CaTarget } from '../../../api/v1alpha1/index.ts';
import { aggregator } from './aggregator.ts';
import type { TargetDescriptor } from './descriptor.ts';
import { etcd } from './etcd.ts';
import { kubernetes } from './kubernetes.ts';
import { talos } from './talos.ts';

/** Every target; a name without a descriptor does not compile. */
export const TARGETS: Readonly<Record<CaTarget, TargetDescriptor>> = {
  talos,
  kubernetes,
  etcd,
  'kubernetes-aggregator': aggregator,
};

/** The descriptors of these names, in the order of the API. */
export function descriptorsOf(names: readonly CaTarget[]): TargetDescriptor[] {
  return CA_TARGETS.filter((name) => names.includes(name)).map((name) => TARGETS[name]);
}

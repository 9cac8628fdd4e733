import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import { type CertificateAndKey, lintRotation } from '../../pkg/pki/index.ts';
import type { StoreObservation, TargetMaterial } from '../rotation/observation.ts';
import type { ClusterState } from './ports.ts';

/** One CA that is being replaced, with both keys. */
export interface CaChange {
  readonly target: CaTarget;
  readonly old: CertificateAndKey;
  readonly new: CertificateAndKey;
}

/** What the record replaces: the new CA out of the record, the old one out of the bundle that held it. */
export function changesOf(state: ClusterState): CaChange[] {
  const { record, bundle, previous } = state;
  if (record === undefined) return [];
  return CA_TARGETS.flatMap((target) => {
    const next = record.targets[target];
    if (next === undefined) return [];
    const held = caOf(bundle, target);
    const old =
      held.certificate.fingerprint === next.certificate.fingerprint && previous !== undefined
        ? caOf(previous, target)
        : held;
    return [{ target, old, new: next }];
  });
}

/** Whether the bundle holds the new CA of every target. */
export function isBundleReplaced(state: ClusterState): boolean {
  const changes = changesOf(state);
  return (
    changes.length > 0 &&
    changes.every(
      (change) => caOf(state.bundle, change.target).certificate.fingerprint === change.new.certificate.fingerprint,
    )
  );
}

/** The store's part of an observation. */
export function observeStore(
  state: ClusterState,
  options: { now: number; otherOperations: readonly string[] },
): StoreObservation {
  const changes = changesOf(state);
  const material: Partial<Record<CaTarget, TargetMaterial>> = {};
  for (const change of changes) material[change.target] = { old: change.old.certificate, new: change.new.certificate };
  return {
    material: state.record === undefined ? undefined : material,
    bundleReplaced: isBundleReplaced(state),
    problems: isBundleReplaced(state)
      ? []
      : lintRotation(changes, { now: options.now }).map((problem) => problem.message),
    otherOperations: options.otherOperations,
  };
}

import { CA_TARGETS, type CaTarget, type TalosOperation } from '../../api/v1alpha1/index.ts';
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
export function changesOf(state: ClusterState): readonly CaChange[] {
  const known = changes.get(state);
  if (known !== undefined) return known;
  const found = findChanges(state);
  changes.set(state, found);
  return found;
}

/** Asked for a dozen times in every look, of every machine; forgotten together with the state. */
const changes = new WeakMap<ClusterState, readonly CaChange[]>();

function findChanges({ record, bundle, previous }: ClusterState): CaChange[] {
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

/**
 * Whose cordons are this operation's to undo: its own, and those of the one that wrote the
 * record, where it goes on with that of one that was removed by force.
 */
export function ownersOf({ record }: Pick<ClusterState, 'record'>, { metadata }: TalosOperation): readonly string[] {
  return [...new Set([metadata.uid, record?.operation ?? metadata.uid])];
}

/** The store's part of an observation. */
export function observeStore(
  state: ClusterState,
  options: { now: number; operation: TalosOperation; otherOperations: readonly string[] },
): StoreObservation {
  const [, adoptedFrom] = ownersOf(state, options.operation);
  const changes = changesOf(state);
  const material: Partial<Record<CaTarget, TargetMaterial>> = {};
  for (const change of changes) material[change.target] = { old: change.old.certificate, new: change.new.certificate };
  return {
    material: state.record === undefined ? undefined : material,
    ...(adoptedFrom !== undefined && { adoptedFrom }),
    bundleReplaced: isBundleReplaced(state),
    problems: isBundleReplaced(state) ? [] : problemsOf(state, changes, options.now),
    otherOperations: options.otherOperations,
  };
}

/** Lints are kept for a minute: they read every key anew, and only time can change what they say of the same material. */
function problemsOf(state: ClusterState, changes: readonly CaChange[], now: number): readonly string[] {
  if (state.record === undefined) return [];
  const key = `${Math.floor(now / 60_000)} ${changes.map((change) => change.old.certificate.fingerprint).join(' ')}`;
  const kept = linted.get(state.record);
  if (kept?.key === key) return kept.problems;
  const problems = lintRotation(changes, { now }).map((problem) => problem.message);
  linted.set(state.record, { key, problems });
  return problems;
}

/** Forgotten together with the record, which a store reads again when its file changes. */
const linted = new WeakMap<object, { readonly key: string; readonly problems: readonly string[] }>();

import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import { bundleFingerprint, createRotationRecord } from '../../pkg/bundle/index.ts';
import { type CertificateAndKey, createCa, lintRotation } from '../../pkg/pki/index.ts';
import type { Actor } from './act.ts';
import { EffectRefusedError } from './effect-error.ts';
import { changesOf, isBundleReplaced } from './material.ts';

/** Makes the new certificate authorities and stores them durably; after this the targets are frozen. */
export async function writeRecord(actor: Actor, targets: readonly CaTarget[]): Promise<void> {
  const { state } = actor.observed;
  // One set of keys for the whole operation: a record that is there is taken up, never made anew.
  if (state.record !== undefined) return;
  const now = actor.ports.clock.now();
  const made: Partial<Record<CaTarget, CertificateAndKey>> = {};
  for (const target of CA_TARGETS.filter((each) => targets.includes(each)))
    made[target] = await actor.newCa(target, now);
  const record = createRotationRecord(state.bundle, made, { operation: actor.owner });
  const problems = lintRotation(changesOf({ ...state, record }), { now });
  if (problems.length > 0) throw new EffectRefusedError(problems.map((problem) => problem.message).join('; '));
  await actor.ports.store.writeRecord(record);
}

/** A machine whose clock is a little behind must not find the new CA not yet valid. */
const BACKDATE_MS = 300_000;

/** The default maker of new certificate authorities: Talos's own profile. */
export function newCa(target: CaTarget, now: number): Promise<CertificateAndKey> {
  return createCa(target, { now, backdateMs: BACKDATE_MS });
}

/** Replaces every target's CA in the bundle in one atomic step. */
export async function replaceBundle(actor: Actor): Promise<void> {
  const { state } = actor.observed;
  if (state.record === undefined)
    throw new EffectRefusedError('there is no rotation record; the bundle was not touched');
  if (isBundleReplaced(state)) return;
  await actor.ports.store.replaceBundle(bundleFingerprint(state.bundle), state.record.targets);
}

/** The operation is over: the record goes, the kept bundle is settled, the finalizer is released by the report. */
export async function complete(actor: Actor): Promise<void> {
  await actor.ports.store.removeRecord();
  await actor.ports.store.settlePrevious(actor.observed.observation.operation.spec.previousBundle);
}

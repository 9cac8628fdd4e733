import { X509Certificate } from 'node:crypto';
import { type Change, type RenderStage, renderStage } from '../../../pkg/machineconfig/index.ts';
import type { Certificate, CertificateAndKey } from '../../../pkg/pki/index.ts';
import type { TalosMachine } from '../../../pkg/talos/index.ts';
import { PKI_KINDS } from './kinds.ts';
import { type ChangeKind, changeOf } from './material.ts';
import { change as changeConfig, effectOf } from './subject.ts';
import type { Subject } from './target.ts';

export function signedBy(leaf: Certificate | undefined, ca: CertificateAndKey): boolean {
  if (leaf === undefined) return false;
  return new X509Certificate(leaf.pem).verify(new X509Certificate(ca.certificate.pem).publicKey);
}

/** Applies the stage of one change, or of several at once. */
export async function bring(
  machine: TalosMachine,
  change: Change | readonly Change[],
  stage: RenderStage,
): Promise<void> {
  const { tag } = await machine.version();
  const changes = [change].flat();
  await changeConfig(machine, (config) => renderStage(config, changes, stage, { talosVersion: tag }));
}

export function caOf(change: Change): { old: CertificateAndKey; new: CertificateAndKey } {
  if (!('certificate' in change.old) || !('certificate' in change.new)) throw new Error(`${change.target} is no CA`);
  return { old: change.old, new: change.new };
}

export const prints = (certificates: readonly Certificate[] | undefined) =>
  certificates?.map(({ fingerprint }) => fingerprint);

/** `moved` sorts resources before pods before services. */
export function byKind(a: string, b: string): number {
  const rank = (name: string) => (name.startsWith('pod:') ? 1 : name.startsWith('service:') ? 2 : 0);
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

/** The changes that one cluster goes through, each made when it is first asked for. */
export interface StagedChanges {
  change(kind: ChangeKind): Promise<Change>;
  /** Brings the first control plane to a stage of them all at once, and says what that moved. */
  effect(
    kinds: readonly ChangeKind[],
    stage: RenderStage,
    options: { readonly expected: readonly string[]; readonly quietMs: number },
  ): Promise<string[]>;
}

/** Changes from what the subject was made from to new material. */
export function stagedChanges(subject: () => Subject): StagedChanges {
  const made = new Map<ChangeKind, Promise<Change>>();
  const change = (kind: ChangeKind): Promise<Change> => {
    const found = made.get(kind) ?? changeOf(kind, subject().target.bundle);
    made.set(kind, found);
    return found;
  };
  return {
    change,
    async effect(kinds, stage, options) {
      const changes = await Promise.all(kinds.map(change));
      const { first } = subject();
      return effectOf(first, PKI_KINDS, { act: () => bring(first, changes, stage), ...options });
    },
  };
}

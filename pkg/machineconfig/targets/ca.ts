import type { Certificate, Fingerprint } from '../../pki/index.ts';
import type { Access } from '../access.ts';
import { type AcceptedList, blockOf, type CaHome, type IssuingCa } from '../ca-home.ts';
import { MachineConfigError } from '../error.ts';
import type { CaChange, DriftItem, RenderRequest, RenderStage, Standing, TargetRenderer } from '../model.ts';
import { roleOf } from '../role.ts';
import { holds, inOrder, withBlock, withoutBlocks } from '../trust-list.ts';
import type { Edit } from '../yaml/edits.ts';

/** What differs between the CAs that have an accepted list. */
export interface CaTargetOptions {
  /** Where the CA lives in this configuration; undefined where it does not concern the machine. */
  readonly homeOf: (access: Access) => CaHome | undefined;
  /** Edits for a home without an accepted list: it has to move, or cannot be rotated. */
  readonly renderWithoutList?: (access: Access, change: CaChange, request: RenderRequest) => Edit[];
}

/**
 * A CA with an issuing certificate and an accepted list. On a control plane the
 * two are separate fields; a typed worker document has the list alone, and its
 * order tells the stages apart (Talos's own rotation writes the new CA first).
 */
export function caTarget({ homeOf, renderWithoutList }: CaTargetOptions): TargetRenderer<CaChange> {
  return {
    stand(access, change) {
      const home = homeOf(access);
      return home === undefined ? { stage: 'NotConcerned' } : standingOf(home, change, roleOf(access));
    },
    render(access, change, request) {
      const home = homeOf(access);
      if (home === undefined) return [];
      if (home.accepted === undefined) return renderWithoutList?.(access, change, request) ?? [];
      return renderCa(home, home.accepted, change, request.stage);
    },
    drift(access, change, stage) {
      const home = homeOf(access);
      return home === undefined ? [] : driftOf(home, change, stage, roleOf(access));
    },
  };
}

/** How a fingerprint is written in messages. */
export function short(fingerprint: Fingerprint | string): string {
  return `sha256:${fingerprint.slice(0, 16)}`;
}

/** The single certificate of an issuing CA. Several would make the controller manager exit and hide who signs. */
export function singleCertificate({ certificates }: IssuingCa): Certificate | undefined {
  return certificates.length === 1 ? certificates[0] : undefined;
}

function standingOf(home: CaHome, change: CaChange, role: 'controlplane' | 'worker'): Standing {
  const entries = home.accepted?.entries ?? [];
  const hasOld = holds(entries, blockOf(change.old.certificate));
  const hasNew = holds(entries, blockOf(change.new.certificate));
  if (home.issuing === undefined) {
    if (role === 'controlplane') return { stage: 'Foreign', reason: `${home.path} holds no CA` };
    return listStanding(home, change);
  }
  const issuing = singleCertificate(home.issuing);
  if (issuing === undefined) {
    return {
      stage: 'Foreign',
      reason: `${home.path} holds ${home.issuing.certificates.length} certificates, expected one`,
    };
  }
  const signer = [change.old, change.new].find(({ certificate }) => certificate.fingerprint === issuing.fingerprint);
  if (signer === undefined) {
    return {
      stage: 'Foreign',
      reason:
        `${home.path} holds the CA ${short(issuing.fingerprint)}; expected the old ` +
        `${short(change.old.certificate.fingerprint)} or the new ${short(change.new.certificate.fingerprint)}`,
    };
  }
  const keyFault = role === 'controlplane' ? faultOfKey(home, issuing) : undefined;
  if (keyFault !== undefined) return { stage: 'Foreign', reason: keyFault };
  if (signer === change.old) return { stage: hasNew ? 'Accepting' : 'Before' };
  return { stage: hasOld ? 'Issuing' : 'Dropping' };
}

function faultOfKey(home: CaHome, issuing: Certificate): string | undefined {
  const found = home.issuing?.keyFingerprint();
  if (found === undefined) return `${home.path} holds a certificate without its key`;
  if (found === issuing.publicKeyFingerprint) return undefined;
  return `the key in ${home.path} (${short(found)}) is not that of its certificate (${short(issuing.publicKeyFingerprint)})`;
}

function listStanding(home: CaHome, change: CaChange): Standing {
  const ids = (home.accepted?.entries ?? []).flat().map(({ id }) => id);
  const oldAt = ids.indexOf(change.old.certificate.fingerprint);
  const newAt = ids.indexOf(change.new.certificate.fingerprint);
  if (oldAt === -1 && newAt === -1) {
    const found = ids.length === 0 ? 'nothing' : ids.map(short).join(', ');
    return {
      stage: 'Foreign',
      reason:
        `${home.accepted?.path ?? home.path} accepts ${found}; expected the old ` +
        `${short(change.old.certificate.fingerprint)} or the new ${short(change.new.certificate.fingerprint)}`,
    };
  }
  if (newAt === -1) return { stage: 'Before' };
  if (oldAt === -1) return { stage: 'Dropping' };
  return { stage: oldAt < newAt ? 'Accepting' : 'Issuing' };
}

function renderCa(home: CaHome, accepted: AcceptedList, change: CaChange, stage: RenderStage): Edit[] {
  const { entries } = accepted;
  const older = blockOf(change.old.certificate);
  const newer = blockOf(change.new.certificate);
  if (home.issuing === undefined) {
    if (stage === 'Accepting') return accepted.arrange(inOrder(entries, older, newer));
    if (stage === 'Issuing') return accepted.arrange(inOrder(entries, newer, older));
    return accepted.arrange(inOrder(entries, newer, undefined, older));
  }
  const signer = stage === 'Accepting' ? change.old : change.new;
  const isSigner = singleCertificate(home.issuing)?.fingerprint === signer.certificate.fingerprint;
  const signing = isSigner ? home.issuing.terminate() : home.issuing.set(signer.certificate.pem, signer.key);
  if (stage === 'Dropping') return [...signing, ...accepted.arrange(withoutBlocks(entries, [older, newer]))];
  // The CA that signs is accepted anyway. Where someone listed it too, it stays listed while it signs.
  const [wanted, other] = stage === 'Accepting' ? [newer, older] : [older, newer];
  return [
    ...signing,
    ...accepted.arrange(withBlock(entries, wanted, isSigner && stage === 'Accepting' ? undefined : other)),
  ];
}

function driftOf(
  home: CaHome,
  change: CaChange,
  stage: RenderStage,
  role: 'controlplane' | 'worker',
): Omit<DriftItem, 'target'>[] {
  const drift: Omit<DriftItem, 'target'>[] = [];
  const entries = home.accepted?.entries ?? [];
  const ids = entries.flat().map(({ id }) => id);
  const name = (id: string) => named(id, change);
  const listField = home.accepted?.path ?? home.path;
  if (home.issuing === undefined) {
    const wanted = { Accepting: [change.old, change.new], Issuing: [change.new, change.old], Dropping: [change.new] }[
      stage
    ];
    const expected = wanted.map(({ certificate }) => name(certificate.fingerprint)).join(', then ');
    const ours = ids.filter(
      (id) => id === change.old.certificate.fingerprint || id === change.new.certificate.fingerprint,
    );
    const found = ours.map(name).join(', then ') || 'neither the old nor the new CA';
    return expected === found ? [] : [{ field: listField, expected, found }];
  }
  const signer = (stage === 'Accepting' ? change.old : change.new).certificate;
  const found = home.issuing.certificates.map(({ fingerprint }) => name(fingerprint)).join(', ');
  const expected = name(signer.fingerprint);
  if (found !== expected) drift.push({ field: home.path, expected, found });
  if (role === 'controlplane') {
    const key = home.issuing.keyFingerprint();
    const foundKey = key === undefined ? 'no key' : `key ${short(key)}`;
    const expectedKey = `key ${short(signer.publicKeyFingerprint)}`;
    if (foundKey !== expectedKey) drift.push({ field: `${home.path}.key`, expected: expectedKey, found: foundKey });
  }
  for (const item of listDrift(ids, change, stage)) drift.push({ field: listField, ...item });
  return drift;
}

function listDrift(
  ids: readonly string[],
  change: CaChange,
  stage: RenderStage,
): { expected: string; found: string }[] {
  const older = change.old.certificate.fingerprint;
  const newer = change.new.certificate.fingerprint;
  const wanted = { Accepting: newer, Issuing: older, Dropping: undefined }[stage];
  const unwanted = { Accepting: undefined, Issuing: undefined, Dropping: older }[stage];
  const found = ids.length === 0 ? 'an empty list' : ids.map((id) => named(id, change)).join(', ');
  if (wanted !== undefined && !ids.includes(wanted)) return [{ expected: `${named(wanted, change)} accepted`, found }];
  if (unwanted !== undefined && ids.includes(unwanted)) return [{ expected: `${named(unwanted, change)} gone`, found }];
  return [];
}

/** A fingerprint with its part in the change. */
function named(id: string, change: CaChange): string {
  if (id === change.old.certificate.fingerprint) return `old CA ${short(id)}`;
  if (id === change.new.certificate.fingerprint) return `new CA ${short(id)}`;
  return `other CA ${short(id)}`;
}

/** The refusal for a machine that runs a Talos without what a target needs. */
export function needsNewerTalos(
  access: Access,
  request: RenderRequest,
  field: string,
  why: string,
): MachineConfigError {
  const message = `${why}; Talos ${request.version.text} cannot do this, upgrade it to 1.14 first`;
  return new MachineConfigError('needs-newer-talos', message, { where: access.config.where, field });
}

import type { CaTarget } from './ca.ts';
import type { Certificate, CertificateAndKey } from './certificate.ts';
import { fieldsOf, type LintProblem, type LintRule, lintCa, problem } from './lint.ts';
import { keyFits } from './private-key.ts';

/** One CA that is to be replaced by another. */
export interface CaChange {
  readonly target: CaTarget;
  /** The key is absent where only the certificate is known. */
  readonly old: CertificateAndKey | { readonly certificate: Certificate; readonly key?: undefined };
  readonly new: CertificateAndKey;
}

/** How strictly to look at a rotation. */
export interface LintRotationOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** See `lintCa`. */
  readonly clockSkewMs?: number;
  /** CAs of the cluster that are not rotated; the new ones must differ from them, too. */
  readonly others?: readonly { readonly name: string; readonly certificate: Certificate }[];
}

interface Named {
  readonly name: string;
  readonly certificate: Certificate;
  readonly fresh: boolean;
}

/**
 * Everything that speaks against a rotation, empty when it is sound.
 *
 * The new CAs are held to every rule; of an old one only its key must fit, since
 * being expired or weak may be why it is replaced. No new CA may share its key,
 * serial number or fingerprint with any other CA; old ones among themselves may
 * (kubeadm gives every CA the serial number 0).
 */
export function lintRotation(changes: readonly CaChange[], options: LintRotationOptions): LintProblem[] {
  const named: Named[] = [
    ...changes.map(({ target, old }) => ({ name: `the old ${target} CA`, certificate: old.certificate, fresh: false })),
    ...(options.others ?? []).map((other) => ({ ...other, fresh: false })),
    ...changes.map((change) => ({
      name: `the new ${change.target} CA`,
      certificate: change.new.certificate,
      fresh: true,
    })),
  ];
  const skew = options.clockSkewMs === undefined ? {} : { clockSkewMs: options.clockSkewMs };
  return [
    ...changes.flatMap(({ target, old }) => lintOld(`the old ${target} CA`, old)),
    ...changes.flatMap((change) =>
      lintCa(change.new, { now: options.now, name: `the new ${change.target} CA`, ...skew }),
    ),
    ...named.flatMap((ca, index) => (ca.fresh ? named.slice(0, index).flatMap((other) => lintPair(ca, other)) : [])),
    ...changes.flatMap(lintIdentifiers),
  ];
}

function lintOld(name: string, old: CaChange['old']): LintProblem[] {
  if (old.key === undefined || keyFits(old.certificate, old.key)) return [];
  return [problem(name, old.certificate, 'key-mismatch', 'does not belong to the private key beside it')];
}

function lintPair(ca: Named, other: Named): LintProblem[] {
  const found = (rule: LintRule, what: string) => [
    problem(ca.name, ca.certificate, rule, `${what} ${other.name} (${other.certificate.fingerprint})`),
  ];
  if (ca.certificate.fingerprint === other.certificate.fingerprint) return found('same-certificate', 'is the same as');
  return [
    ...(ca.certificate.publicKeyFingerprint === other.certificate.publicKeyFingerprint
      ? found('same-key', 'has the same key as')
      : []),
    ...(ca.certificate.serial === other.certificate.serial
      ? found('same-serial', `has the same serial number ${ca.certificate.serial} as`)
      : []),
  ];
}

/**
 * OpenSSL takes the first root of the issuer's name whose identifier does not
 * contradict the leaf's, without trying another: where two roots share their
 * name, only distinct identifiers let it choose rightly in both orders.
 */
function lintIdentifiers({ target, old, new: fresh }: CaChange): LintProblem[] {
  const oldFields = fieldsOf(old.certificate);
  const newFields = fieldsOf(fresh.certificate);
  if (Buffer.compare(oldFields.subject, newFields.subject) !== 0) return [];
  const report = (message: string) => [problem(`the new ${target} CA`, fresh.certificate, 'key-identifier', message)];
  const [oldId, newId] = [oldFields.subjectKeyId, newFields.subjectKeyId];
  const both = `shares its subject with the old one (${old.certificate.fingerprint})`;
  if (oldId === undefined || newId === undefined) {
    const without = newId === undefined ? 'it has' : 'the old one has';
    return report(
      `${both}, and ${without} no subject key identifier: OpenSSL could not tell them apart; choose another subject`,
    );
  }
  return Buffer.compare(oldId, newId) === 0 ? report(`${both}, and its subject key identifier, too`) : [];
}

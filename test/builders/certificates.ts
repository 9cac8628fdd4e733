import {
  type CaTarget,
  type CertificateAndKey,
  type CreateCaOptions,
  createCa,
  issueLeaf,
  type LeafProfile,
} from '../../pkg/pki/index.ts';

/** The time at which test material is made, well inside every validity: 2026-11-30T00:53:20Z. */
export const MADE_AT = 1_796_000_000_000;

/** A CA in Talos's profile, made at {@link MADE_AT} unless overridden. */
export function aCa(target: CaTarget = 'talos', overrides: Partial<CreateCaOptions> = {}): Promise<CertificateAndKey> {
  return createCa(target, { now: MADE_AT, ...overrides });
}

/** A client's leaf, made at {@link MADE_AT} unless overridden. */
export function aLeaf(ca: CertificateAndKey, overrides: Partial<LeafProfile> = {}): Promise<CertificateAndKey> {
  return issueLeaf(ca, { subject: { cn: 'somebody' }, usages: ['client'], now: MADE_AT, ...overrides });
}

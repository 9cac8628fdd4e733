import type { Context } from '../context.ts';
import type { Blocker } from '../decision.ts';

/** Old and new certificate authorities passed every check of `pkg/pki` before anything is handed on. */
export function certificatesPass(context: Context): Blocker | undefined {
  const { problems } = context.observation.store;
  return problems.length === 0 ? undefined : { reason: 'CertificateRefused', message: problems.join('; ') };
}

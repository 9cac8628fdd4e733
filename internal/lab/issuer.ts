import { keyFingerprint } from '../../pkg/pki/index.ts';
import type { Issuer } from '../simulator/index.ts';
import { otherInputs } from './other-inputs.ts';
import type { Certificates } from './served.ts';

/** The certificates of a lab as its world sees them: machines hold exactly what they show on the wire. */
export function createIssuer(certificates: Certificates): Issuer & Required<Pick<Issuer, 'learn'>> {
  const learning = new Map<string, Promise<void>>();
  return {
    pair(ca, { machine, use }) {
      const { certificate, key } = certificates.leaf(machine, use, ca);
      return { certificates: [certificate], keyFingerprint: keyFingerprint(key) };
    },
    otherInputs,
    learn(machine, config) {
      // One configuration of a machine at a time, in their order; a failed one does not hold up the next.
      const before = learning.get(machine.name) ?? Promise.resolve();
      const next = before.catch(() => undefined).then(() => certificates.learn(machine, config));
      learning.set(machine.name, next);
      return next;
    },
  };
}

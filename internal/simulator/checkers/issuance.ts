import { X509Certificate } from 'node:crypto';
import { caOf } from '../../../pkg/bundle/index.ts';
import type { Certificate, CertificateAndKey } from '../../../pkg/pki/index.ts';
import type { Checker, Moment } from '../run.ts';

/** Our own certificates are for one rotation: a day at most. */
const DAY_MS = 86_400_000;

/** S19: new CAs are sound to another reader than our own, and what is issued for us is short-lived and for clients only. */
export function issuance(): Checker {
  let seen = 0;
  return {
    property: 'S19 issuance',
    check({ faults }) {
      const { issued } = faults.log;
      for (; seen < issued.length; seen += 1) {
        const leaf = issued[seen];
        if (leaf === undefined) continue;
        if (leaf.validityMs > DAY_MS)
          return `a certificate for ${leaf.subject} was made for ${leaf.validityMs / DAY_MS} days`;
        if (leaf.usages.join() !== 'client')
          return `a certificate for ${leaf.subject} may be used as ${leaf.usages.join()}`;
      }
      return undefined;
    },
    end(moment) {
      if (moment.operation?.status.stage !== 'Done') return undefined;
      for (const target of moment.scenario.targets) {
        const why = unsound(caOf(moment.store.document.bundle, target), moment);
        if (why !== undefined) return `the new ${target} CA ${why}`;
      }
      return undefined;
    },
  };
}

function unsound({ certificate }: CertificateAndKey, { world }: Moment): string | undefined {
  const { notAfter, why } = read.get(certificate) ?? readAnew(certificate);
  return why ?? (notAfter < world.clock.now() ? 'has expired' : undefined);
}

/** What the other reader says of a certificate, whatever the time: the runs of one process share their CAs. */
interface ReadAnew {
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  readonly why: string | undefined;
}

const read = new WeakMap<Certificate, ReadAnew>();

function readAnew(certificate: Certificate): ReadAnew {
  const other = new X509Certificate(certificate.pem);
  const found = { notAfter: other.validToDate.getTime(), why: unsoundEver(other) };
  read.set(certificate, found);
  return found;
}

function unsoundEver(other: X509Certificate): string | undefined {
  if (!other.ca) return 'is none';
  if (!other.verify(other.publicKey)) return 'is not signed by its own key';
  return other.serialNumber.length < 16 ? 'has a serial number of less than 64 bits' : undefined;
}

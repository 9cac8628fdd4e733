import { webcrypto } from 'node:crypto';
import { credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { type Certificate, parseCertificate, parseCertificates } from '../../../pkg/pki/index.ts';
import { type CertificateResponse, SecurityServiceClient } from '../../../proto/generated/talos/security.ts';

const TRUSTD_PORT = 50_001;

/** What trustd gives to a machine that asks: its leaf, and the CAs whose clients it is to take. */
export interface TrustdAnswer {
  readonly leaf: Certificate;
  readonly accepted: readonly Certificate[];
}

/**
 * Asks the trustd of a control plane for a leaf, as a worker's machined does, over a
 * connection of its own that shows no certificate. Rejects with the gRPC error.
 */
export async function askTrustd(options: {
  readonly host: string;
  readonly trust: readonly Certificate[];
  readonly token: string;
}): Promise<TrustdAnswer> {
  const csr = await aRequest();
  const trust = Buffer.from(options.trust.map(({ pem }) => pem).join(''));
  // A name instead of the address, for which Node would print a warning; names are for `probeTls` to check.
  const channel = credentials.createSsl(trust, null, null, { checkServerIdentity: () => undefined });
  const client = new SecurityServiceClient(`${options.host}:${TRUSTD_PORT}`, channel, {
    'grpc.ssl_target_name_override': 'trustd',
  });
  const metadata = new Metadata();
  metadata.set('token', options.token);
  try {
    const response = await new Promise<CertificateResponse>((resolve, reject) => {
      const done = (error: ServiceError | null, answer: CertificateResponse) =>
        error === null ? resolve(answer) : reject(error);
      client.certificate({ csr }, metadata, { deadline: Date.now() + 10_000 }, done);
    });
    return {
      leaf: parseCertificate(Buffer.from(response.crt).toString()),
      accepted: parseCertificates(Buffer.from(response.ca).toString()),
    };
  } finally {
    client.close();
  }
}

/** A signing request as a worker makes it, with an organization that it has no right to. */
async function aRequest(): Promise<Buffer> {
  const keys = await webcrypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: 'O=os:admin, CN=worker',
    keys,
    signingAlgorithm: { name: 'Ed25519' },
  });
  return Buffer.from(request.toString('pem'));
}

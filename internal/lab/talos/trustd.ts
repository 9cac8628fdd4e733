import { createHash, timingSafeEqual } from 'node:crypto';
import { performServerHandshake } from 'node:http2';
import { writeCertificates } from '../../../pkg/pki/index.ts';
import { SecurityServiceService } from '../../../proto/generated/talos/security.ts';
import { asText } from '../configuration.ts';
import type { TlsClient } from '../tls-listener.ts';
import type { Boot } from './boot.ts';
import { type Call, CODE, GrpcError, type Route, serveCall, unary } from './grpc.ts';

/** Signs the server certificates of workers, for who has the token (`internal/app/trustd`, `pkg/grpc/middleware/auth/basic`). */
const CERTIFICATE: Route<Boot> = unary(SecurityServiceService.certificate, async (boot: Boot, { csr }, call) => {
  checkToken(boot, call);
  const { lab, machine } = boot;
  const { issuing, accepted } = machine.taken.talos;
  if (issuing === undefined) throw new GrpcError(CODE.failedPrecondition, 'the Talos CA has no key');
  try {
    const certificate = await lab.certificates.sign(issuing.fingerprint, Buffer.from(csr).toString('utf8'));
    return { ca: Buffer.from(writeCertificates(accepted)), crt: Buffer.from(certificate.pem) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new GrpcError(CODE.invalidArgument, `error signing certificate: ${why}`);
  }
});

/** Serves trustd to a caller, who shows no certificate. */
export function serveTrustd(boot: () => Boot | undefined, { socket }: TlsClient): void {
  const session = performServerHandshake(socket);
  session.on('error', () => undefined);
  session.on('stream', (stream, headers) => {
    if (!('respond' in stream)) return;
    void serveCall(stream, headers, async (call, request, reply) => {
      const now = boot();
      if (now === undefined) throw new GrpcError(CODE.unavailable, 'the machine is going down');
      if (call.path !== CERTIFICATE.path) throw new GrpcError(CODE.unimplemented, `unknown method ${call.path}`);
      await CERTIFICATE.answer(now, call, request, reply);
    });
  });
}

/** Compared by digest in constant time, as trustd does. */
function checkToken(boot: Boot, call: Call): void {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const [shown] = call.metadata('token');
  if (shown === undefined) throw new GrpcError(CODE.unauthenticated, 'missing credentials');
  if (timingSafeEqual(digest(shown), digest(asText(boot.configuration().machine.token)))) return;
  throw new GrpcError(CODE.unauthenticated, 'invalid credentials');
}

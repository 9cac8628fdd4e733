import { GenerateClientConfigurationRequest, MachineServiceService } from '../../../proto/generated/talos/machine.ts';
import { parseCertificate, parseCertificates, Secret } from '../../pki/index.ts';
import type { TalosMachine } from '../machine.ts';
import { TransportFailure } from '../transport/failure.ts';
import { type CallContext, duration, only } from './context.ts';

/** Client certificates issued by the machine. */
export function createIdentityCalls({ invoker, deadlines }: CallContext): Pick<TalosMachine, 'issueClient'> {
  return {
    async issueClient(request, options) {
      const kind = { call: 'GenerateClientConfiguration', deadlineMs: deadlines.readMs };
      const message = GenerateClientConfigurationRequest.fromPartial({
        roles: [...request.roles],
        crtTtl: duration(request.ttlMs),
      });
      const reply = await invoker.unary(MachineServiceService.generateClientConfiguration, message, kind, options);
      const { ca, crt, key } = only(invoker, kind, reply.messages);
      try {
        return {
          trust: parseCertificates(ca.toString('utf8'), 'issued CA'),
          credentials: {
            certificate: parseCertificate(crt.toString('utf8'), 'issued certificate'),
            key: Secret.of('private-key', key.toString('utf8')),
          },
        };
      } catch {
        // Without the cause: nothing of the reply may be quoted.
        const detail = 'the reply holds no certificate that can be read';
        throw invoker.failure(kind, new TransportFailure('malformed', 'not-done', detail));
      }
    },
  };
}

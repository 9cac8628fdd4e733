import { talosAdminProfile, writeCertificates } from '../../../pkg/pki/index.ts';
import { writeTalosconfig } from '../../../pkg/talos/index.ts';
import { MachineServiceService } from '../../../proto/generated/talos/machine.ts';
import { planeOf } from '../../simulator/index.ts';
import { CODE, GrpcError, type Route, unary } from './grpc.ts';
import { answering, type Session } from './session.ts';

/** Client certificates that the machine issues. */
export const IDENTITY_ROUTES: readonly Route<Session>[] = [
  unary(MachineServiceService.generateClientConfiguration, async ({ boot }: Session, { roles, crtTtl }) => {
    const { lab, machine } = boot;
    answering(() => planeOf(machine, 'client configuration'));
    const validityMs = Number(crtTtl?.seconds ?? 0n) * 1_000 + (crtTtl?.nanos ?? 0) / 1_000_000;
    if (validityMs <= 0) throw new GrpcError(CODE.invalidArgument, 'crt_ttl should be positive');
    const { issuing, accepted } = machine.taken.talos;
    if (issuing === undefined) throw new GrpcError(CODE.failedPrecondition, 'the Talos CA has no key');
    const profile = { ...talosAdminProfile({ now: lab.world.clock.now(), roles }), validityMs };
    const credentials = await lab.certificates.issue(issuing.fingerprint, profile);
    const clusterName = machine.view.clusterName ?? '';
    const context = roles.length === 1 ? `${roles[0]?.replace(/^os:/, '')}@${clusterName}` : clusterName;
    const talosconfig = writeTalosconfig({
      context,
      contexts: { [context]: { endpoints: [], nodes: [], trust: accepted, credentials, rest: {} } },
    });
    return {
      messages: [
        {
          metadata: undefined,
          ca: Buffer.from(writeCertificates(accepted)),
          crt: Buffer.from(credentials.certificate.pem),
          key: Buffer.from(credentials.key.expose()),
          talosconfig: Buffer.from(talosconfig),
        },
      ],
    };
  }),
];

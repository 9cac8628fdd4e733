import { talosAccessRenewed } from '../stages/talos-access-renewed.ts';
import { proveAccepted, proveIssuing, type TargetDescriptor } from './descriptor.ts';

/**
 * The Talos API CA. apid and trustd swap certificates and trust in place: no
 * process restarts. A worker's apid accepts what the trustd that answered it
 * accepts, so control planes come first.
 */
export const talos: TargetDescriptor = {
  name: 'talos',
  title: 'Talos API CA',
  concerns: 'all',
  handOff: true,
  restartsApiServer: false,
  restartsKubelet: false,
  rolled: false,
  workersDropFirst: false,
  minimumTalos: [1, 9],
  tooOld: 'VersionUnsupported',
  prove: (input) =>
    proveAccepted('apid', input.pki.talosAccepted, input) ??
    (input.role === 'controlplane' ? proveIssuing('the Talos API', input.pki.talosIssuing, input) : undefined) ??
    proveIssuing("apid's certificate", input.pki.apidIssuer, input) ??
    // What a worker's apid holds may be ahead of what its own controllers have made of its configuration.
    proveAccepted('the Talos root (OSRootSecrets)', input.pki.talosRootAccepted, input),
  accepted: (pki) => pki.talosAccepted,
  shown: (pki) => [pki.talosIssuing, pki.apidIssuer],
  issuing: (pki) => pki.talosIssuing,
  warnings: [
    'Every talosconfig with a certificate of the old CA stops working in Dropping; the new one is handed over before.',
    'The Secrets of talos.dev ServiceAccounts hold one CA and change only in Issuing: programs in the cluster that use the Talos API may fail for a moment, and must read them again.',
  ],
  needs: { Issuing: ['talosAccess'] },
  settle: { Issuing: [talosAccessRenewed] },
};

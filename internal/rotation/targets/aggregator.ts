import { aggregatorSettled } from '../stages/aggregator-settled.ts';
import { authenticationReset } from '../stages/authentication-reset.ts';
import { proveAccepted, proveIssuing, type TargetDescriptor } from './descriptor.ts';

/** The aggregator (front-proxy) CA: an accepted list exists from Talos 1.14 on. */
export const aggregator: TargetDescriptor = {
  name: 'kubernetes-aggregator',
  title: 'Kubernetes aggregator CA',
  concerns: 'controlplane',
  handOff: false,
  restartsApiServer: true,
  restartsKubelet: false,
  rolled: false,
  workersDropFirst: false,
  minimumTalos: [1, 14],
  tooOld: 'AggregatorUnsupported',
  prove: (input) =>
    proveAccepted('the aggregation layer', input.pki.aggregatorAccepted, input) ??
    proveIssuing('the aggregation layer', input.pki.aggregatorIssuing, input),
  accepted: (pki) => pki.aggregatorAccepted,
  shown: (pki) => [pki.aggregatorIssuing],
  issuing: (pki) => pki.aggregatorIssuing,
  published: 'requestheader',
  warnings: [
    'Extension API servers that read extension-apiserver-authentication once, at their start, must be restarted by their owners.',
  ],
  needs: { Accepting: ['authentication'], AwaitingCredentials: ['authentication'], Finalizing: ['authentication'] },
  settle: {
    Accepting: [aggregatorSettled],
    AwaitingCredentials: [aggregatorSettled],
    Finalizing: [authenticationReset],
  },
};

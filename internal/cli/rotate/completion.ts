import type { CaTarget, TalosOperation } from '../../../api/v1alpha1/index.ts';
import type { Observation, PkiReading } from '../../rotation/observation.ts';
import { duration } from '../progress/render.ts';

/** What was read back from one machine at the end: the CAs that it issues with, or accepts where it issues with none. */
export interface MachineFingerprints {
  readonly machine: string;
  readonly fingerprints: Readonly<Partial<Record<CaTarget, readonly string[]>>>;
}

/** A completed rotation, as it is reported. */
export interface Completion {
  readonly name: string;
  readonly uid: string;
  readonly tookMs: number | undefined;
  /** What it ended with; names what could not be tried. */
  readonly message: string;
  readonly certificates: TalosOperation['status']['caRotation']['certificates'];
  readonly machines: readonly MachineFingerprints[];
}

/** What the last look saw of a rotation that is done. */
export function completionOf(operation: TalosOperation | undefined, observation: Observation | undefined): Completion {
  const { certificates, targets } = operation?.status.caRotation ?? { certificates: [], targets: [] };
  const { completedAt, message = '' } = operation?.status ?? {};
  const created = operation?.metadata.creationTimestamp;
  return {
    name: operation?.metadata.name ?? '',
    uid: operation?.metadata.uid ?? '',
    tookMs:
      completedAt === undefined || created === undefined ? undefined : Date.parse(completedAt) - Date.parse(created),
    message,
    certificates,
    machines: (observation?.machines ?? []).map(({ name, talos }) => ({
      machine: name,
      fingerprints: talos.known
        ? Object.fromEntries(
            targets.flatMap((target) => {
              const found = trustedBy(talos.value.pki, target);
              return found.length === 0 ? [] : [[target, found]];
            }),
          )
        : {},
    })),
  };
}

/** The CAs that a machine trusts for a target, as its own resources say. */
export function trustedBy(pki: PkiReading, target: CaTarget): readonly string[] {
  switch (target) {
    case 'talos':
      return pki.talosAccepted;
    case 'kubernetes':
      return pki.kubernetesAccepted.length > 0 ? pki.kubernetesAccepted : pki.kubeletAccepted;
    case 'etcd':
      return pki.etcdTrusted;
    case 'kubernetes-aggregator':
      return pki.aggregatorAccepted;
  }
}

/** The report for people: the operation, old and new fingerprints, and what each machine says it trusts now. */
export function completionText(completion: Completion): string {
  const { name, uid, tookMs, message, certificates, machines } = completion;
  return [
    `rotated: operation ${name} (uid ${uid})${tookMs === undefined ? '' : `, ${duration(tookMs)}`}`,
    ...(message === '' ? [] : [message]),
    ...certificates.map((each) => `  ${each.name}: ${short(each.old)} -> ${short(each.new)}`),
    'each machine says that it trusts:',
    ...machines.map(({ machine, fingerprints }) => {
      const texts = Object.entries(fingerprints).map(([target, found]) => `${target} ${found.map(short).join(' ')}`);
      return `  ${machine}: ${texts.join(', ') || 'none of them (not concerned)'}`;
    }),
    'The bundle changed: keep a copy of secrets.yaml where you keep your backups (ichor cluster bundle-export).',
  ].join('\n');
}

/** As much of a fingerprint as people compare. */
function short(fingerprint: string): string {
  return fingerprint.slice(0, 16);
}

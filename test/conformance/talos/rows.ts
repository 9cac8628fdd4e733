import { expect } from 'vitest';
import { Secret } from '../../../pkg/pki/index.ts';
import type { ResourceKind, TalosMachine } from '../../../pkg/talos/index.ts';
import { StaticPodSpec } from '../../../proto/generated/talos/resources/k8s.ts';
import { type ConfigDocuments, editDocuments } from './documents.ts';
import { ALWAYS, KUBERNETES_CHAIN, PKI_KINDS } from './kinds.ts';
import { type Footprint, footprint, moved, until } from './subject.ts';

/** Everything that follows from a change follows at once; so long nothing may come after it. */
const QUIET_MS = 2_000;

/** The manifest of a static pod: what makes the kubelet start another one, and what that is started with. */
export interface StaticPodManifest {
  readonly annotations: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

interface PodDocument {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: { readonly containers?: readonly { readonly command?: readonly string[] }[] };
}

/** The manifests that Talos gives to the kubelet; one for each component, by its name. */
export const STATIC_POD: ResourceKind<StaticPodManifest> = {
  type: 'StaticPods.kubernetes.talos.dev',
  namespace: 'k8s',
  decode(bytes) {
    const pod = (StaticPodSpec.decode(bytes).pod ?? {}) as PodDocument;
    return {
      annotations: pod.metadata?.annotations ?? {},
      command: pod.spec?.containers?.[0]?.command ?? [],
    };
  },
};

/** What else than PKI a change of a configuration may move; only whether it moves is asked. */
const ROW_KINDS: Readonly<Record<string, ResourceKind<unknown>>> = {
  ...PKI_KINDS,
  'CertSAN/api': ofVersion('CertSANs.secrets.talos.dev', 'secrets', 'api'),
  'CertSAN/k8s': ofVersion('CertSANs.secrets.talos.dev', 'secrets', 'k8s'),
  EtcdConfig: ofVersion('EtcdConfigs.etcd.talos.dev', 'etcd', 'etcd'),
  EtcdEncryptionConfig: ofVersion('EtcdEncryptionConfigs.kubernetes.talos.dev', 'k8s', 'k8s'),
  EtcdSpec: ofVersion('EtcdSpecs.etcd.talos.dev', 'etcd', 'etcd'),
  'StaticPod/kube-apiserver': { ...STATIC_POD, id: 'kube-apiserver' },
  'StaticPod/kube-controller-manager': { ...STATIC_POD, id: 'kube-controller-manager' },
  'StaticPod/kube-scheduler': { ...STATIC_POD, id: 'kube-scheduler' },
};

function ofVersion(type: string, namespace: string, id: string): ResourceKind<unknown> {
  return { type, namespace, id, decode: () => undefined };
}

/** Any change of Kubernetes material: all three manifests are other ones, so that the kubelet starts all three anew. */
export const KUBERNETES_ROW = [
  ...KUBERNETES_CHAIN,
  'StaticPod/kube-apiserver',
  'StaticPod/kube-controller-manager',
  'StaticPod/kube-scheduler',
];

/** One change of a configuration, which is taken back when it has been looked at. */
export interface Row {
  readonly edit: (documents: ConfigDocuments) => void;
  /** What it moves besides the configuration itself; names of `moved`. */
  readonly moves: readonly string[];
  /** Looks at the machine while the change is there. */
  readonly look?: () => Promise<void>;
}

/**
 * Applies a change, and sees that the machine answers as to every change, that
 * exactly the given resources move and services start, that taking the change back
 * moves the same ones, and what `look` sees in between. Containers of static pods
 * are not counted: rows follow each other faster than a kubelet restarts them.
 */
export async function seeRow(machine: TalosMachine, row: Row): Promise<void> {
  const { config } = await machine.configuration('active');
  const changed = Secret.of('machine-config', editDocuments(config.expose(), row.edit));
  const moves = [...row.moves, ...ALWAYS].sort();
  await seeAnswers(machine, changed);

  try {
    expect(await movedBy(machine, moves, () => apply(machine, changed))).toEqual(moves);
    await row.look?.();
  } catch (error) {
    // What comes after a failed row begins as if it had not been.
    await apply(machine, config);
    throw error;
  }
  expect(await movedBy(machine, moves, () => apply(machine, config))).toEqual(moves);
}

/** Dry runs of a change in every mode: no answer depends on what is changed. */
async function seeAnswers(machine: TalosMachine, config: Secret<'machine-config'>): Promise<void> {
  for (const mode of ['AUTO', 'NO_REBOOT', 'STAGED', 'TRY'] as const) {
    const { changes, mode: used, warnings } = await machine.apply({ config, mode, dryRun: true });
    expect([mode, { changes, used, warnings }]).toEqual([
      mode,
      { changes: true, used: mode === 'AUTO' ? 'NO_REBOOT' : mode, warnings: [] },
    ]);
  }
}

async function apply(machine: TalosMachine, config: Secret<'machine-config'>): Promise<void> {
  expect(await machine.apply({ config, mode: 'NO_REBOOT' })).toEqual({
    mode: 'NO_REBOOT',
    warnings: [],
    details: 'Applied configuration without a reboot',
  });
}

/** What an action moves of resources and services, sorted: waits for what is expected and for quiet after it. */
async function movedBy(
  machine: TalosMachine,
  expected: readonly string[],
  act: () => Promise<unknown>,
): Promise<string[]> {
  const before = await footprint(machine, ROW_KINDS);
  const between = (from: Footprint, to: Footprint) =>
    moved(from, to)
      .filter((name) => !name.startsWith('pod:'))
      .sort();
  await act();
  let last = before;
  let since = performance.now();
  await until(`${expected.join(', ')} move on ${machine.name}, and then nothing else`, 600_000, async () => {
    const now = await footprint(machine, ROW_KINDS);
    // What has moved may move again, such as a certificate that is made of several things.
    if (between(last, now).length > 0) since = performance.now();
    last = now;
    const names = between(before, now);
    return expected.every((name) => names.includes(name)) && performance.now() - since > QUIET_MS;
  });
  return between(before, last);
}

import type { MachineConfigView } from '../../pkg/machineconfig/index.ts';
import type { Certificate, Fingerprint } from '../../pkg/pki/index.ts';

/** What Talos's controllers make of a configuration: the CAs in its resources, in their order. */
export interface Material {
  readonly talos: { readonly issuing: Certificate | undefined; readonly accepted: readonly Certificate[] };
  /** Control planes only, as the two below. */
  readonly kubernetes: CaMaterial | undefined;
  readonly aggregator: CaMaterial | undefined;
  readonly etcd: EtcdMaterial | undefined;
  /** What the kubelet trusts. */
  readonly kubelet: readonly Certificate[];
  /** Equal where KubernetesRootSecrets would be; any difference restarts the static pods. */
  readonly kubernetesKey: string;
  /** Where kube-apiserver is to listen: an argument of its static pod. */
  readonly apiServerPort: number | undefined;
}

/**
 * What a configuration says besides its CAs, as texts that are equal where Talos's
 * controllers would make the same of it.
 */
export interface OtherInputs {
  /** What the certificates of apid and trustd are made of: token, names. */
  readonly talos: string;
  /** Names of the machine that it asks for. */
  readonly machineNames: string;
  /** Everything else that KubernetesRootSecrets holds. */
  readonly kubernetes: string;
  /** Names of the API server that it asks for, the endpoint's among them. */
  readonly apiServerNames: string;
  /** What the kubelet is started with. */
  readonly kubelet: string;
  /** Image, arguments and subnets of etcd. */
  readonly etcd: string;
  /** The rules of encryption at rest; undefined where they cannot be made into a file. */
  readonly encryption: string | undefined;
}

/** A CA that signs on this machine, and everything that is accepted. */
export interface CaMaterial {
  readonly issuing: Certificate;
  readonly accepted: readonly Certificate[];
}

/** The bundle in etcd's trust file, and who signs its leaves: nobody where certificate and key do not fit. */
export interface EtcdMaterial {
  readonly bundle: readonly Certificate[];
  readonly signer: Fingerprint | undefined;
}

/** Reads the material out of a configuration, in the order in which that version of Talos lists it; the same for the same view. */
export function materialOf(view: MachineConfigView, minor: number): Material {
  const known = materials.get(view);
  if (known?.minor === minor) return known.material;
  const material = readMaterial(view, minor);
  materials.set(view, { minor, material });
  return material;
}

const materials = new WeakMap<MachineConfigView, { readonly minor: number; readonly material: Material }>();

function readMaterial(view: MachineConfigView, minor: number): Material {
  const { talos, kubernetes, aggregator, etcd } = view;
  const kubernetesAccepted = listed(kubernetes.issuing, kubernetes.accepted, minor);
  const isPlane = view.role === 'controlplane';
  const aggregatorMaterial =
    isPlane && aggregator !== undefined ? caOf(aggregator.issuing, aggregator.accepted) : undefined;
  return {
    talos: {
      issuing: isPlane ? talos.issuing : undefined,
      accepted: talos.issuing === undefined ? talos.accepted : [...talos.accepted, talos.issuing],
    },
    kubernetes:
      isPlane && kubernetes.issuing !== undefined
        ? { issuing: kubernetes.issuing, accepted: kubernetesAccepted }
        : undefined,
    aggregator: aggregatorMaterial,
    etcd: etcd === undefined ? undefined : { bundle: etcd.bundle, signer: signerOf(etcd) },
    kubelet: kubernetesAccepted,
    kubernetesKey: JSON.stringify([
      kubernetes.issuing?.fingerprint,
      prints(kubernetesAccepted),
      aggregatorMaterial?.issuing.fingerprint,
      prints(aggregatorMaterial?.accepted ?? []),
      view.serviceAccount,
      view.encryption,
      view.endpoint,
    ]),
    apiServerPort: view.apiServerPort,
  };
}

function caOf(issuing: Certificate | undefined, accepted: readonly Certificate[]): CaMaterial | undefined {
  return issuing === undefined ? undefined : { issuing, accepted: listed(issuing, accepted, 14) };
}

/** 1.14 lists the issuing CA first, older versions last (`talos-behaviour` 5). */
function listed(issuing: Certificate | undefined, accepted: readonly Certificate[], minor: number): Certificate[] {
  if (issuing === undefined) return [...accepted];
  const others = accepted.filter((each) => each.fingerprint !== issuing.fingerprint);
  return minor >= 14 ? [issuing, ...others] : [...others, issuing];
}

function signerOf(etcd: NonNullable<MachineConfigView['etcd']>): Fingerprint | undefined {
  const [first] = etcd.bundle;
  return first !== undefined && first.publicKeyFingerprint === etcd.keyFingerprint ? first.fingerprint : undefined;
}

/** Fingerprints in their order; the same list for the same list, which is never changed. */
export function prints(certificates: readonly Certificate[]): readonly Fingerprint[] {
  const known = printed.get(certificates);
  if (known !== undefined) return known;
  const fingerprints = Object.freeze(certificates.map((certificate) => certificate.fingerprint));
  printed.set(certificates, fingerprints);
  return fingerprints;
}

const printed = new WeakMap<readonly Certificate[], readonly Fingerprint[]>();

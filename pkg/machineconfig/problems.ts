import type { Access } from './access.ts';
import { readEncryption } from './encryption-rules.ts';
import { MachineConfigError, type MachineConfigErrorKind } from './error.ts';
import { clusterOf, machineOf, roleOf } from './role.ts';
import { kubernetesHome } from './targets/kubernetes.ts';
import { talosHome } from './targets/talos.ts';
import { knowsTypedDocuments, type TalosVersion } from './version.ts';
import { type AnyPair, isNull, pairOf } from './yaml/nodes.ts';
import { documentOf } from './yaml/parse.ts';
import { placeAt } from './yaml/source.ts';

/** A reason not to touch a configuration, found before anything is rendered. */
export interface ConfigProblem {
  readonly kind: MachineConfigErrorKind;
  readonly field: string;
  /** 1-based. */
  readonly line: number;
  /** What is there, what it leads to and what to do. */
  readonly message: string;
}

/** Kinds that Talos 1.14 added and an older one refuses as "not registered". */
const TYPED_KINDS = [
  'KubeAPIServerCAConfig',
  'KubeAggregatorCAConfig',
  'KubeServiceAccountConfig',
  'KubeEtcdEncryptionConfig',
  'KubeClusterConfig',
  'DiscoveryIdentityConfig',
] as const;

/** The kinds with secrets of control planes (talos `ControlplaneOnlyConfig`). */
const CONTROL_PLANE_KINDS = ['KubeAggregatorCAConfig', 'KubeServiceAccountConfig', 'KubeEtcdEncryptionConfig'] as const;

/** One field in both shapes: the document and the old field that it replaces. */
const HOMES = [
  { kind: 'KubeAPIServerCAConfig', field: 'ca' },
  { kind: 'KubeAggregatorCAConfig', field: 'aggregatorCA' },
  { kind: 'KubeServiceAccountConfig', field: 'serviceAccount' },
  { kind: 'KubeEtcdEncryptionConfig', field: 'secretboxEncryptionSecret' },
  { kind: 'KubeEtcdEncryptionConfig', field: 'aescbcEncryptionSecret' },
] as const;

/**
 * Everything that makes a configuration unfit to be rendered: combinations that
 * Talos refuses, or that it takes and does not survive (talos
 * `config/container/validate.go`, `v1alpha1_validation.go`, issues 14338 and 14279).
 */
export function problemsOf(access: Access): ConfigProblem[] {
  const role = roleOf(access);
  const rules = role === 'controlplane' ? [twoHomes, halfMigrated, missingOnControlPlane] : [twoHomes, onWorker];
  return rules.flatMap((rule) => rule(access));
}

/** The first document of a kind that only Talos 1.14 and later know, if there is one. */
export function firstTypedKind(access: Access): string | undefined {
  return TYPED_KINDS.find((kind) => documentOf(access.config, kind) !== undefined);
}

/** The refusal of a machine whose version cannot know the documents it is given. */
export function refuseUnknownKinds(access: Access, version: TalosVersion): void {
  if (knowsTypedDocuments(version)) return;
  const kind = firstTypedKind(access);
  const document = kind === undefined ? undefined : documentOf(access.config, kind);
  if (kind === undefined || document === undefined) return;
  const message = `Talos ${version.text} does not know this kind and would refuse the whole configuration`;
  throw new MachineConfigError('needs-newer-talos', message, placeAt(access.config, document.start, kind));
}

function problem(
  access: Access,
  kind: MachineConfigErrorKind,
  field: string,
  at: { readonly offset: number; readonly message: string },
): ConfigProblem {
  return { kind, field, line: placeAt(access.config, at.offset).line ?? 1, message: at.message };
}

/** A field of `cluster` that Talos takes as set. */
function clusterField(access: Access, field: string): AnyPair | undefined {
  const cluster = clusterOf(access);
  const pair = cluster && pairOf(cluster, field);
  if (pair === undefined || pair.value === null || isNull(pair.value)) return undefined;
  return 'value' in pair.value && pair.value.value === '' ? undefined : pair;
}

function twoHomes(access: Access): ConfigProblem[] {
  return HOMES.flatMap(({ kind, field }) => {
    const pair = clusterField(access, field);
    if (pair === undefined || documentOf(access.config, kind) === undefined) return [];
    const message = `is set beside a ${kind} document; Talos refuses both, remove one`;
    return [problem(access, 'two-homes', `cluster.${field}`, { offset: pair.key.range[0], message })];
  });
}

function halfMigrated(access: Access): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const account = clusterField(access, 'serviceAccount');
  const cluster = clusterOf(access);
  const controlPlane = cluster && access.fields.map(cluster, 'controlPlane', 'cluster.controlPlane');
  const hasEndpoint = controlPlane !== undefined && pairOf(controlPlane, 'endpoint') !== undefined;
  if (account !== undefined && (!hasEndpoint || documentOf(access.config, 'KubeClusterConfig') !== undefined)) {
    const message =
      'the old service-account key without cluster.controlPlane.endpoint beside it crashes machined of Talos 1.14.0; ' +
      'move the key to a KubeServiceAccountConfig document as well';
    problems.push(
      problem(access, 'half-migrated', 'cluster.serviceAccount', { offset: account.key.range[0], message }),
    );
  }
  const server = documentOf(access.config, 'KubeAPIServerConfig');
  for (const kind of ['KubeAuthenticationConfig', 'KubeAuthorizerConfig']) {
    if (server === undefined || documentOf(access.config, kind) !== undefined) continue;
    const message = `a KubeAPIServerConfig document without a ${kind} document: kube-apiserver does not start; add it`;
    problems.push(problem(access, 'half-migrated', 'KubeAPIServerConfig', { offset: server.start, message }));
  }
  return problems;
}

function missingOnControlPlane(access: Access): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const at = (offset: number, message: string) => ({ offset, message });
  if (talosHome(access).issuing?.hasKey !== true) {
    const message = 'a control plane needs the Talos CA with its key';
    problems.push(problem(access, 'missing-value', 'machine.ca', at(access.config.legacy.start, message)));
  }
  const home = kubernetesHome(access);
  const hasKubernetes = home.issuing !== undefined || (home.accepted?.entries.length ?? 0) > 0;
  const document = documentOf(access.config, 'KubeAPIServerCAConfig');
  if (document !== undefined && home.issuing?.hasKey !== true) {
    const message = 'a control plane without issuingCA cannot sign: its certificate controllers fail; add issuingCA';
    problems.push(problem(access, 'half-migrated', home.path, at(document.start, message)));
  }
  if (hasKubernetes && readEncryption(access) === undefined) {
    const message = 'Talos refuses a control plane with a Kubernetes CA and no encryption of etcd';
    problems.push(
      problem(access, 'half-migrated', 'KubeEtcdEncryptionConfig', at(access.config.legacy.start, message)),
    );
  }
  return problems;
}

function onWorker(access: Access): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const at = (offset: number, message: string) => ({ offset, message });
  for (const kind of CONTROL_PLANE_KINDS) {
    const document = documentOf(access.config, kind);
    if (document === undefined) continue;
    const message = 'Talos allows this document on control planes only; remove it';
    problems.push(problem(access, 'worker-holds-key', kind, at(document.start, message)));
  }
  for (const field of ['etcd', 'aggregatorCA', 'serviceAccount', ...ENCRYPTION_FIELDS]) {
    const pair = clusterField(access, field);
    if (pair === undefined) continue;
    const message = 'belongs on control planes only; remove it from this worker';
    problems.push(problem(access, 'worker-holds-key', `cluster.${field}`, at(pair.key.range[0], message)));
  }
  const homes = [talosHome(access), kubernetesHome(access)];
  for (const home of homes) {
    if (home.issuing?.hasKey !== true && !(home.shape === 'typed' && home.issuing !== undefined)) continue;
    const message = 'a worker must not hold the key of a CA; keep the certificate only';
    problems.push({ kind: 'worker-holds-key', field: home.path, line: home.issuing?.line ?? 1, message });
  }
  const [talos] = homes;
  if (talos?.issuing === undefined && (talos?.accepted?.entries.length ?? 0) === 0) {
    const message =
      'the worker trusts no Talos CA (machine.ca.crt, machine.acceptedCAs), so it cannot get a certificate';
    problems.push(problem(access, 'trusts-nothing', 'machine.ca', at(machineOf(access).range?.[0] ?? 0, message)));
  }
  return problems;
}

const ENCRYPTION_FIELDS = ['secretboxEncryptionSecret', 'aescbcEncryptionSecret'];

/** Throws the first problem, if there is one. */
export function refuseProblems(access: Access): void {
  const [first] = problemsOf(access);
  if (first === undefined) return;
  const { kind, message, line, field } = first;
  throw new MachineConfigError(kind, message, { where: access.config.where, line, field });
}

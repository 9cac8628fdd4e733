import { hash } from 'node:crypto';
import { CA_TARGETS, type CaTarget, type TalosOperation } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import {
  type CaView,
  type MachineConfigView,
  type OpenMachineConfig,
  openMachineConfig,
} from '../../pkg/machineconfig/index.ts';
import type { Certificate, Fingerprint } from '../../pkg/pki/index.ts';
import type { ConfigStanding } from '../rotation/observation.ts';
import { type CaChange, changesOf } from './material.ts';
import type { ClusterState } from './ports.ts';

/** A machine's configuration, as far as the engine compares it. */
export interface ReadConfig {
  /** SHA-256 of its bytes, lower-case hex. */
  readonly digest: string;
  readonly standing: Readonly<Record<CaTarget, ConfigStanding>>;
  /** The first reason for which it cannot be rendered, with field and line. */
  readonly unfit?: string;
  /** Where kube-apiserver listens; control planes only. */
  readonly apiServerPort?: number;
}

/** What configurations are compared with. */
export interface Expected {
  readonly state: ClusterState;
  readonly replaced: ReplacedCas;
}

/** CAs that operations have taken out of service: by fingerprint, the name of the operation. */
export type ReplacedCas = ReadonlyMap<Fingerprint, string>;

/** The CAs that the completed ones of these operations have replaced. */
export function replacedBy(operations: readonly TalosOperation[]): ReplacedCas {
  return new Map(
    operations
      .filter(({ status }) => status.stage === 'Done')
      .flatMap(({ metadata, status }) =>
        status.caRotation.certificates.map((each) => [each.old as Fingerprint, metadata.name] as const),
      ),
  );
}

/** Reads configurations, each text once: parsing is most of what a look at a quiet cluster costs. */
export interface ConfigReader {
  read(config: string, expected: Expected, where: string): ReadConfig;
}

/** So many configurations are remembered: those of 1,000 clusters of ten machines. One takes half a kilobyte. */
const REMEMBERED = 10_000;

/** Keeps where the last configurations stand and nothing of their text. One reader may serve any number of clusters. */
export function createConfigReader(limit = REMEMBERED, digestOfText = digestOf): ConfigReader {
  const known = new Map<string, ReadConfig>();
  return {
    read(config, expected, where) {
      const digest = digestOfText(config);
      const key = `${digest} ${materialKey(expected.state)} ${replacedKey(expected.replaced)}`;
      const before = known.get(key);
      // As long as half of it is free, nothing is about to be forgotten.
      if (before !== undefined && known.size <= limit / 2) return before;
      // A Map keeps the order of insertion: what is used again moves to its end.
      known.delete(key);
      const read = before ?? { digest, ...readOf(openMachineConfig(config, where), expected) };
      known.set(key, read);
      const [oldest] = known.keys();
      if (known.size > limit && oldest !== undefined) known.delete(oldest);
      return read;
    },
  };
}

function readOf(config: OpenMachineConfig, expected: Expected): Omit<ReadConfig, 'digest'> {
  const { problems, apiServerPort } = config.view();
  const [problem] = problems;
  return {
    standing: standingOf(config, expected),
    ...(apiServerPort === undefined ? {} : { apiServerPort }),
    ...(problem === undefined ? {} : { unfit: `line ${problem.line}: ${problem.field}: ${problem.message}` }),
  };
}

/** SHA-256 of a configuration's bytes, lower-case hex. */
export function digestOf(config: string): string {
  return hash('sha256', config, 'hex');
}

/** Where a machine's configuration stands for every target, compared with the record, the bundle and what was replaced before. */
export function standingOf(config: OpenMachineConfig, expected: Expected): Record<CaTarget, ConfigStanding> {
  const changes = new Map(changesOf(expected.state).map((change) => [change.target, change]));
  const entries = CA_TARGETS.map((target): [CaTarget, ConfigStanding] => {
    const change = changes.get(target);
    return [target, change === undefined ? beforeAny(config.view(), expected, target) : during(config, change)];
  });
  return Object.fromEntries(entries) as Record<CaTarget, ConfigStanding>;
}

/** What every standing depends on besides the configuration; asked for every machine of one look. */
function materialKey(state: ClusterState): string {
  const known = materialKeys.get(state);
  if (known !== undefined) return known;
  const ours = changesOf(state).flatMap((change) => [
    change.old.certificate.fingerprint,
    change.new.certificate.fingerprint,
  ]);
  const held = CA_TARGETS.map((target) => caOf(state.bundle, target).certificate.fingerprint);
  // A digest, because it is a part of the key of every configuration that is remembered.
  const key = digestOf([...ours, '/', ...held].join(' '));
  materialKeys.set(state, key);
  return key;
}

const materialKeys = new WeakMap<ClusterState, string>();

/** The same of what was replaced, which only grows with the operations. */
function replacedKey(replaced: ReplacedCas): string {
  if (replaced.size === 0) return '';
  const known = replacedKeys.get(replaced);
  if (known !== undefined) return known;
  const key = digestOf([...replaced].flat().join(' '));
  replacedKeys.set(replaced, key);
  return key;
}

const replacedKeys = new WeakMap<ReplacedCas, string>();

function during(config: OpenMachineConfig, change: CaChange): ConfigStanding {
  const { stage, reason } = config.standing(change);
  return stage === 'Foreign' ? { stage, why: reason ?? 'it matches no stage of this rotation' } : { stage };
}

/**
 * Without a record for the target: the configuration must hold what the bundle holds, and
 * nothing else may issue. What else it accepts is its owner's, except for a CA that an
 * operation replaced: a machine that accepts that one came back with an older disk.
 */
function beforeAny(view: MachineConfigView, { state, replaced }: Expected, target: CaTarget): ConfigStanding {
  const expected = caOf(state.bundle, target).certificate.fingerprint;
  const back = ACCEPTED[target](view).find(({ fingerprint }) => fingerprint !== expected && replaced.has(fingerprint));
  if (back !== undefined) {
    const { fingerprint } = back;
    const why = `the configuration accepts ${fingerprint.slice(0, 12)}, which the operation ${replaced.get(fingerprint)} replaced; take it out of the accepted list`;
    return { stage: 'Foreign', why };
  }
  const found = ISSUING[target](view);
  if (found === undefined) return { stage: 'NotConcerned' };
  const { certificates, isList } = found;
  const isThere = certificates.some(({ fingerprint }) => fingerprint === expected);
  // What a worker has instead of an issuing CA is a list, which may hold others of its owner.
  if (isThere && (certificates.length === 1 || (isList && view.role === 'worker'))) return { stage: 'Before' };
  const texts = certificates.map((each) => each.fingerprint.slice(0, 12)).join(', ') || 'nothing';
  return { stage: 'Foreign', why: `the configuration holds ${texts}; the bundle holds ${expected.slice(0, 12)}` };
}

/** The accepted list, which on workers is all that there is; etcd's bundle is compared as a whole. */
const ACCEPTED: Readonly<Record<CaTarget, (view: MachineConfigView) => readonly Certificate[]>> = {
  talos: (view) => view.talos.accepted,
  kubernetes: (view) => view.kubernetes.accepted,
  etcd: () => [],
  'kubernetes-aggregator': (view) => view.aggregator?.accepted ?? [],
};

/** What issues (or, on workers, is trusted) for each target; `undefined` where the machine has none. */
const ISSUING: Readonly<Record<CaTarget, (view: MachineConfigView) => Issuing | undefined>> = {
  talos: (view) => issuing(view.talos),
  kubernetes: (view) => issuing(view.kubernetes),
  etcd: (view) => view.etcd && { certificates: view.etcd.bundle, isList: false },
  'kubernetes-aggregator': (view) => (view.aggregator === undefined ? undefined : issuing(view.aggregator)),
};

interface Issuing {
  readonly certificates: readonly Certificate[];
  /** They are the accepted list, because nothing issues. */
  readonly isList: boolean;
}

function issuing({ issuing: first, besideIssuing, accepted }: CaView): Issuing {
  return first === undefined
    ? { certificates: accepted, isList: true }
    : { certificates: [first, ...besideIssuing], isList: false };
}

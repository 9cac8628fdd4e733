import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import { readMachineConfig, stageOf } from '../../pkg/machineconfig/index.ts';
import type { Certificate } from '../../pkg/pki/index.ts';
import type { ConfigStanding } from '../rotation/observation.ts';
import { changesOf } from './material.ts';
import type { ClusterState } from './ports.ts';

/** Where a machine's configuration stands for every target, compared with the record and the bundle. */
export function standingOf(config: string, state: ClusterState, where: string): Record<CaTarget, ConfigStanding> {
  const changes = new Map(changesOf(state).map((change) => [change.target, change]));
  const entries = CA_TARGETS.map((target): [CaTarget, ConfigStanding] => {
    const change = changes.get(target);
    return [target, change === undefined ? beforeAny(config, state, target, where) : toStanding(config, change)];
  });
  return Object.fromEntries(entries) as Record<CaTarget, ConfigStanding>;
}

function toStanding(config: string, change: Parameters<typeof stageOf>[1]): ConfigStanding {
  const standing = stageOf(config, change);
  if (standing.stage === 'Foreign') return { stage: 'Foreign', why: standing.why };
  return { stage: standing.stage };
}

/** Without a record for the target: the configuration must hold what the bundle holds, and it alone issues. */
function beforeAny(config: string, state: ClusterState, target: CaTarget, where: string): ConfigStanding {
  const view = readMachineConfig(config, where);
  const { certificate } = caOf(state.bundle, target);
  const found = issuingIn(view, target);
  if (found === 'none') return { stage: 'NotConcerned' };
  if (found.length === 1 && found[0]?.fingerprint === certificate.fingerprint) return { stage: 'Before' };
  const texts = found.map((each) => each.fingerprint.slice(0, 12)).join(', ') || 'nothing';
  return {
    stage: 'Foreign',
    why: `the configuration holds ${texts}; the bundle holds ${certificate.fingerprint.slice(0, 12)}`,
  };
}

function issuingIn(view: ReturnType<typeof readMachineConfig>, target: CaTarget): readonly Certificate[] | 'none' {
  if (target === 'etcd') return view.etcd === undefined ? 'none' : view.etcd.bundle;
  const trust = { talos: view.talos, kubernetes: view.kubernetes, 'kubernetes-aggregator': view.aggregator }[target];
  if (trust === undefined) return 'none';
  if (trust.issuing !== undefined) return [trust.issuing];
  return trust.accepted;
}

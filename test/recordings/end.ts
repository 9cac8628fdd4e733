import { CA_TARGETS, type CaStage } from '../../api/v1alpha1/index.ts';
import { firstAnswer } from '../../internal/cli/cluster-view.ts';
import { caOf, type SecretsBundle } from '../../pkg/bundle/index.ts';
import { type KubeClient, listNodes, listRootCas, readAggregatorAuth, whyNotReady } from '../../pkg/kube/index.ts';
import { type CaChange, renderStage } from '../../pkg/machineconfig/index.ts';
import type { Observer, WatchedMachine } from './observer.ts';
import type { RecordedEnd } from './recording.ts';

/** What the end of a rotation is read from. */
export interface EndInput {
  readonly observer: Observer;
  readonly machines: readonly WatchedMachine[];
  readonly stage: CaStage;
  /** The bundle of before and the one of now. */
  readonly older: SecretsBundle;
  readonly newer: SecretsBundle;
  /** Configurations of before, by machine. */
  readonly configs: ReadonlyMap<string, string>;
  readonly talosVersion: string;
  readonly now: () => number;
}

/** Reads how a rotation ended, off every machine and through the first control plane that answers. */
export async function readEnd(input: EndInput): Promise<RecordedEnd> {
  const { observer, machines, older, newer, now } = input;
  const { roles } = observer;
  const planes = machines.filter((machine) => machine.role === 'controlplane');
  const { nodes, ...kubernetes } = await firstAnswer(planes, (machine) =>
    observer.session.kube(machine, async (client) => ({
      nodes: await listNodes(client),
      ...(await readPublished(client, observer)),
    })),
  );
  const changes = changesOf(older, newer);
  const ends = machines.map(async (machine) => {
    const node = nodes.find((each) => each.name === machine.name);
    const sights = observer.sights.get(machine.name) ?? [];
    const text = await configurationOf(observer, machine);
    const expected = renderStage(input.configs.get(machine.name) ?? '', changes, 'Dropping', {
      talosVersion: input.talosVersion,
    });
    const end: RecordedEnd['machines'][string] = {
      boots: sights.filter(({ moved }) => moved.includes('boot')).length,
      ready: node !== undefined && whyNotReady(node, { now: now() }) === undefined,
      cordoned: node?.unschedulable === true,
      configuration: text === expected ? 'replaced' : 'other',
      facts: sights.at(-1)?.facts ?? {},
    };
    return [machine.name, end] as const;
  });
  return {
    stage: input.stage,
    bundle: Object.fromEntries(
      CA_TARGETS.map((target) => [target, roles.list(target, [caOf(newer, target).certificate.fingerprint])]),
    ),
    machines: Object.fromEntries(await Promise.all(ends)),
    kubernetes,
  };
}

/** The configuration that a machine runs with. */
export async function configurationOf(observer: Observer, machine: WatchedMachine): Promise<string> {
  return observer.session.talos(machine, async (client) => (await client.configuration('active')).config.expose());
}

/** The targets whose CA is another one. */
function changesOf(older: SecretsBundle, newer: SecretsBundle): CaChange[] {
  return CA_TARGETS.map((target) => ({ target, old: caOf(older, target), new: caOf(newer, target) })).filter(
    (change) => change.old.certificate.fingerprint !== change.new.certificate.fingerprint,
  );
}

async function readPublished(client: KubeClient, { roles }: Observer): Promise<RecordedEnd['kubernetes']> {
  const [namespaces, auth] = await Promise.all([listRootCas(client), readAggregatorAuth(client)]);
  const held = namespaces.filter(({ leaving }) => !leaving);
  return {
    rootCa: [...new Set(held.map(({ fingerprints }) => roles.list('kubernetes', fingerprints)))].sort().join(' and '),
    clientCas: roles.list('kubernetes', auth?.clientCas ?? []),
    requestHeaderCas: roles.list('kubernetes-aggregator', auth?.requestHeaderCas ?? []),
  };
}

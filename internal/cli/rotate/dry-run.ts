import { caOf } from '../../../pkg/bundle/index.ts';
import { type CaChange, renderStage } from '../../../pkg/machineconfig/index.ts';
import { createCa, Secret } from '../../../pkg/pki/index.ts';
import type { ListedMachine } from '../../controller/index.ts';
import type { EmbeddedStore } from '../../store/index.ts';
import { CliError } from '../cli-error.ts';
import type { ClusterView } from '../cluster-view.ts';
import type { Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { checkKubernetes, type KubeDryRunResult, kubeDryRunText } from './dry-run-kubernetes.ts';
import { lookAtPlan } from './plan.ts';
import type { RotateRequest } from './request.ts';

/** What one machine said to the configuration of one stage. */
export interface DryRunResult {
  readonly machine: string;
  readonly stage: 'Accepting' | 'Issuing' | 'Dropping';
  readonly changes: boolean;
  readonly warnings: readonly string[];
  readonly details: string;
}

const STAGES = ['Accepting', 'Issuing', 'Dropping'] as const;

/** What a dry run needs. */
export interface DryRunOptions {
  readonly view: ClusterView;
  readonly request: RotateRequest;
  readonly store: EmbeddedStore;
}

/**
 * Shows the plan and lets every machine check the configuration of every stage, and
 * an API server what Kubernetes will be asked for, without changing anything. The certificate authorities are made for this, live
 * in memory alone and are part of what is checked; nothing is ever contacted with
 * credentials of theirs.
 */
export async function dryRun(
  { environment, output }: Invocation,
  { view, request, store }: DryRunOptions,
): Promise<ExitName> {
  const now = environment.clock.now();
  const plan = await lookAtPlan(view, request, { now, store });
  output.people.write(`${plan.text}\n`);
  const { bundle, record } = await store.readState();
  const changes = await Promise.all(
    request.targets.map(
      async (target): Promise<CaChange> => ({
        target,
        old: caOf(bundle, target),
        new: await createCa(target, { now }),
      }),
    ),
  );
  const results: DryRunResult[] = [];
  let kubernetes: KubeDryRunResult[] = [];
  if (plan.blocked === undefined && record === undefined) {
    for (const machine of await view.machines()) results.push(...(await checkMachine(view, machine, changes)));
    kubernetes = await checkKubernetes({ view, request: plan.request, plan: plan.value, now });
  }
  const lines = results.map(
    ({ machine, stage, changes: differs, warnings }) =>
      `${machine}: accepts the configuration of ${stage}${differs ? '' : ' (nothing to change)'}${warnings.map((each) => `; warning: ${each}`).join('')}`,
  );
  // Machines stand anywhere in it, and each is checked against what it is given before it is given it.
  const begun =
    record === undefined ? [] : ['the rotation has begun: machines were not asked about its configurations'];
  const { evacuationHook } = request;
  const hook =
    evacuationHook === undefined ? [] : [`evacuation hook ${evacuationHook}: may be executed; it was not asked`];
  const blocked = plan.blocked === undefined ? [] : [`a rotation would not start: ${plan.blocked.message}`];
  await output.result(
    {
      plan: plan.value,
      blocked: plan.blocked ?? null,
      dryRun: results,
      kubernetes,
      evacuationHook: evacuationHook ?? null,
    },
    [...lines, ...kubernetes.map(kubeDryRunText), ...hook, ...begun, ...blocked, 'dry run: nothing was changed'].join(
      '\n',
    ),
  );
  return 'ok';
}

async function checkMachine(
  view: ClusterView,
  machine: ListedMachine,
  changes: readonly CaChange[],
): Promise<DryRunResult[]> {
  return view.session.talos(machine, async (client) => {
    const { tag } = await client.version();
    let config = (await client.configuration('active')).config.expose();
    const results: DryRunResult[] = [];
    const options = { talosVersion: tag.replace(/^v/, ''), where: `the configuration of ${machine.name}` };
    for (const stage of STAGES) {
      const next = renderStage(config, changes, stage, options);
      const answer = await client.apply({ config: Secret.of('machine-config', next), mode: 'NO_REBOOT', dryRun: true });
      if (answer.mode === 'REBOOT') {
        throw new CliError(
          'refused',
          `${machine.name} would reboot for the configuration of ${stage}; expected it to be applied without`,
        );
      }
      results.push({
        machine: machine.name,
        stage,
        changes: answer.changes ?? next !== config,
        warnings: answer.warnings,
        details: answer.details,
      });
      config = next;
    }
    return results;
  });
}

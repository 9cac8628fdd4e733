import type { Plan } from '../../../internal/rotation/plan.ts';
import { caOf } from '../../../pkg/bundle/index.ts';
import { operatorDirectory } from '../../e2e/cluster-directory.ts';
import { bundleIn } from '../../e2e/end-state.ts';
import { type ObservedRotation, observeRotation } from '../../e2e/observed-rotation.ts';
import { output, tail } from '../../support/run.ts';
import type { TalosCluster } from '../../talos/cluster.ts';
import { type ServedLeaves, watchServedLeaves } from './etcd-leaves.ts';
import { floorOf, type MeasuredSteps } from './floor.ts';
import { untilHealthy } from './healthy.ts';
import { clientFigures, type OurFigures, ratiosOf } from './result.ts';

/** What to rotate, by which built `ichor`, and what its floor is made of. */
export interface OurRotation {
  readonly name: string;
  readonly cluster: TalosCluster;
  readonly program: string;
  /** `--all`, or `--ca` and its value. */
  readonly targets: readonly string[];
  readonly measured: MeasuredSteps;
}

/** Rotates with traffic, and leaves the cluster's own credentials in the rig's directory. */
export async function rotateWithIchor(rotation: OurRotation): Promise<OurFigures> {
  const { cluster, program, targets, name } = rotation;
  await using directory = await operatorDirectory(cluster);
  const plan = await planned(program, directory.path, targets);
  const floor = floorOf(plan, rotation.measured);
  const before = await bundleIn(directory.path);
  const boots = new Map(cluster.machines.map((machine) => [machine.name, machine.boots()]));
  using leaves = watchServedLeaves(cluster, directory.path);
  const seen = await observeRotation({
    cluster,
    directory: directory.path,
    program,
    args: [...targets, '--previous-bundle', 'remove'],
    // The clients go on until the cluster is healthy, as they do after talosctl.
    afterwards: async () => {
      await directory.handBack();
      await untilHealthy(cluster);
    },
  });
  if (seen.exitCode !== 0) throw new Error(`${name}: ichor ended with ${seen.exitCode}:\n${tail(seen.output, 20)}`);
  const after = await bundleIn(directory.path);
  const served = leaves.judged({ older: caOf(before, 'etcd').certificate, newer: caOf(after, 'etcd').certificate });
  return {
    name,
    wallMs: seen.wallMs,
    healthyMs: seen.afterwardsMs,
    clients: clientFigures(seen.traffic),
    floor,
    ...ratiosOf(seen.wallMs, floor),
    reboots: Object.fromEntries(
      cluster.machines.map((machine) => [machine.name, machine.boots() - (boots.get(machine.name) ?? 0)]),
    ),
    skips: skippedOf(plan, seen, served),
    cpuMs: seen.cpuMs,
    peakRssBytes: seen.peakRssBytes,
    stages: seen.stages,
  };
}

/** The plan as `ichor` itself shows it: what is counted is what is done. */
async function planned(program: string, directory: string, targets: readonly string[]): Promise<Plan> {
  const args = ['cluster', 'rotate-ca', '--dir', directory, ...targets, '--dry-run', '-o', 'json'];
  const text = await output(process.execPath, [program, ...args], { env: { HOME: directory }, timeoutMs: 300_000 });
  return (JSON.parse(text) as { readonly plan: Plan }).plan;
}

/** Control planes that the plan would reboot after Issuing and that were not. */
function skippedOf(plan: Plan, { audit }: ObservedRotation, served: readonly ServedLeaves[]): ServedLeaves[] {
  const asked = plan.stages.filter((stage) => stage.rebootsSkippable).flatMap((stage) => stage.reboots);
  const rebooted = audit.filter((entry) => entry.effect === 'reboot' && entry.stage === 'Issuing');
  return served.filter(
    ({ machine }) => asked.includes(machine) && !rebooted.some((entry) => entry.machine === machine),
  );
}

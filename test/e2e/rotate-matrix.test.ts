import { afterAll, beforeAll, expect, it } from 'vitest';
import { CA_TARGETS, type CaTarget } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import { describeReal } from '../support/real.ts';
import { type TalosCluster, talosCluster } from '../talos/cluster.ts';
import { type OperatorDirectory, operatorDirectory } from './cluster-directory.ts';
import {
  bundleIn,
  expectHealthy,
  expectIdentityKept,
  expectNothingLeft,
  expectOldRefused,
  expectValidConfigurations,
  takeBefore,
} from './end-state.ts';
import { observeRotation } from './observed-rotation.ts';

const NEEDS = { tools: ['machined', 'talosctl', 'kubectl', 'etcdctl'], root: true, linux: true };

/** Every shape of the configuration, with the targets that it can rotate: the legacy one has no accepted list for the aggregator CA. */
const SHAPES = [
  { shape: 'typed', contract: 'v1.14', targets: CA_TARGETS },
  { shape: 'legacy', contract: 'v1.13', targets: CA_TARGETS.filter((target) => target !== 'kubernetes-aggregator') },
] as const;

const CASES = SHAPES.flatMap((shape) => [1, 3].map((controlPlanes) => ({ ...shape, controlPlanes })));

/** One line of the table that is printed at the end. */
interface Row {
  readonly cluster: string;
  readonly targets: string;
  readonly seconds: number;
  readonly reboots: number;
  readonly requests: number;
  readonly failed: number;
  readonly longestStallMs: number;
}

const rows: Row[] = [];

afterAll(() => console.info(tableOf(rows)));

for (const one of CASES) {
  describeReal(`every target and every pair on ${one.controlPlanes}+0, ${one.shape}`, NEEDS, () => matrixOn(one));
}

/** One cluster for all of them: a rotated cluster is the next rotation's start. */
function matrixOn({ shape, contract, targets, controlPlanes }: (typeof CASES)[number]): void {
  let cluster: TalosCluster;
  let directory: OperatorDirectory;

  beforeAll(async () => {
    cluster = await talosCluster({ controlPlanes, workers: 0, contract, name: `matrix${shape[0]}${controlPlanes}` });
    directory = await operatorDirectory(cluster);
  });

  afterAll(async () => {
    await directory?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const combinations = combinationsOf(targets).map((combination) => [combination.join(' + '), combination] as const);
  it.each(combinations)('%s', { timeout: 2_400_000 }, async (name, combination) => {
    const before = await takeBefore(cluster);

    const rotation = await observeRotation({
      cluster,
      directory: directory.path,
      args: ['--ca', combination.join(','), '--previous-bundle', 'remove'],
    });

    expect(rotation.exitCode, rotation.output.slice(-3_000)).toBe(0);
    await directory.handBack();
    const after = await bundleIn(directory.path);
    const changed = CA_TARGETS.filter(
      (target) => caOf(after, target).certificate.fingerprint !== caOf(before.bundle, target).certificate.fingerprint,
    );
    expect(changed).toEqual(combination);
    expectIdentityKept(before.bundle, after);
    expectNothingLeft(directory.path);
    const boots = cluster.machines.map((machine) => machine.boots() - (before.boots[machine.name] ?? 0));
    expect(boots).toEqual(cluster.machines.map(() => (combination.includes('etcd') ? 2 : 0)));
    const { requests, failed, longestStallMs, lostWrites, failures } = rotation.traffic;
    expect(lostWrites).toBe(0);
    // A single API server is away while it restarts; of three, one always answers.
    if (controlPlanes > 1) expect(failed, failures.join('\n')).toBe(0);
    await expectHealthy(cluster);
    await expectValidConfigurations(cluster);
    await expectOldRefused(cluster, before, combination);
    const row = {
      cluster: `${controlPlanes}+0, ${shape}`,
      targets: name,
      seconds: Math.round(rotation.wallMs / 1000),
      reboots: boots.reduce((sum, times) => sum + times, 0),
      requests,
      failed,
      longestStallMs,
    };
    rows.push(row);
    // The table comes after hours; a run that is cut short has said this much.
    console.info(cellsOf(row).join(', '));
  });
}

/** Every one alone, then every two of them. */
function combinationsOf(targets: readonly CaTarget[]): CaTarget[][] {
  const pairs = targets.flatMap((first, index) => targets.slice(index + 1).map((second) => [first, second]));
  return [...targets.map((target) => [target]), ...pairs];
}

/** The rotations that ended well, as Markdown. */
function tableOf(all: readonly Row[]): string {
  const head = ['cluster', 'targets', 'wall', 'reboots', 'requests', 'failed', 'longest stall'];
  return [head, head.map(() => '---'), ...all.map(cellsOf)].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function cellsOf({ cluster, targets, seconds, reboots, requests, failed, longestStallMs }: Row): (string | number)[] {
  return [cluster, targets, `${seconds} s`, reboots, requests, failed, `${longestStallMs} ms`];
}

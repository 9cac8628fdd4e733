import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { AuditLine } from './audit.ts';
import type { Checks } from './checks.ts';
import { type IchorRun, lastLine } from './ichor.ts';
import type { LaneContext } from './model.ts';
import type { Machine } from './readings.ts';
import type { Watched } from './tally.ts';
import { watchCluster } from './watch.ts';

/** A rotation that was run to its end, and what was seen meanwhile. */
export interface Rotated {
  readonly code: number;
  readonly output: string;
  /** What the audit trail says of it. */
  readonly trail: readonly AuditLine[];
  readonly watched: Watched;
}

/** The command line of a rotation that needs nobody. */
export function rotateArgs(targets: readonly CaTarget[]): readonly string[] {
  return ['cluster', 'rotate-ca', '--ca', targets.join(','), '--yes', '--follow'];
}

/** Runs a rotation with the cluster under watch; `during` may do something else while it runs. */
export async function rotate(
  context: LaneContext,
  targets: readonly CaTarget[],
  during: (run: IchorRun, seen: number) => Promise<void> = async () => undefined,
): Promise<Rotated> {
  const seen = (await context.audit()).length;
  const watch = watchCluster(context);
  const run = context.ichor.start(rotateArgs(targets));
  try {
    await during(run, seen);
  } finally {
    await run.ended.catch(() => undefined);
  }
  const { code, output } = await run.ended;
  const watched = await watch.stop();
  return { code, output, trail: (await context.audit()).slice(seen), watched };
}

/** Every rotation: it ends well, and the cluster is whole after it. */
export async function checkEnd(context: LaneContext, checks: Checks, rotated: Rotated): Promise<void> {
  const { code, output, trail, watched } = rotated;
  checks.that('ichor ends with exit code 0', code === 0, code === 0 ? 'exit code 0' : `${code}: ${lastLine(output)}`);
  checks.that(
    'at no moment every API server was silent',
    planesOf(context).length < 2 || watched.allUnready === 0,
    `${watched.allUnready} times`,
  );
  for (const [name, ms] of Object.entries(watched.longestUnreadyMs)) {
    checks.figure(`${name}: /readyz did not answer for at most`, `${(ms / 1000).toFixed(0)} s`);
  }
  checks.figure('reboots that ichor asked for', trail.filter((line) => isSent(line, 'reboot')).length);
  await checkWhole(context, checks);
}

/** An effect that was sent and taken. */
export function isSent(line: AuditLine, effect: string): boolean {
  return line.effect === effect && line.phase === 'after' && line.outcome === 'ok';
}

/** How long a cluster may take to be whole again after the last thing that was done to it, ms. */
const WHOLE_WITHIN_MS = 10 * 60_000;

/** Waits until every Node is ready and uncordoned, every API server ready and every etcd healthy, and notes what was not in the end. */
export async function checkWhole(context: LaneContext, checks: Checks): Promise<boolean> {
  const { clock } = context;
  const deadline = clock.monotonic() + WHOLE_WITHIN_MS;
  for (;;) {
    const missing = await whatIsNotWhole(context);
    if (missing.length === 0 || clock.monotonic() >= deadline) {
      const isWhole = missing.length === 0;
      checks.that(
        'every Node is Ready and not cordoned, every API server ready, every etcd healthy with every member',
        isWhole,
        isWhole ? 'so it is' : missing.join('; '),
      );
      return isWhole;
    }
    await clock.sleep(2_000);
  }
}

async function whatIsNotWhole({ machines, readings }: LaneContext): Promise<string[]> {
  const planes = machines.filter((machine) => machine.role === 'controlplane');
  const nodes = await readings.nodes().catch((error: unknown) => messageOf(error));
  if (typeof nodes === 'string') return [`the Nodes cannot be listed: ${nodes}`];
  const perPlane = await Promise.all(planes.map((machine) => planeProblem(machine, planes.length, readings)));
  return [
    ...nodes.filter((node) => !node.ready).map((node) => `the Node ${node.name} is not Ready`),
    ...nodes.filter((node) => node.cordoned).map((node) => `the Node ${node.name} is cordoned`),
    ...perPlane.flat(),
  ];
}

async function planeProblem(machine: Machine, members: number, readings: LaneContext['readings']): Promise<string[]> {
  const { name } = machine;
  try {
    const [isReady, isHealthy, list] = await Promise.all([
      readings.apiServerReady(machine),
      readings.etcdHealthy(machine),
      readings.etcdMembers(machine),
    ]);
    return [
      ...(isReady ? [] : [`the API server of ${name} is not ready`]),
      ...(isHealthy ? [] : [`the etcd of ${name} is not healthy`]),
      ...(list.length === members ? [] : [`the etcd of ${name} lists ${list.length} members, expected ${members}`]),
    ];
  } catch (error) {
    return [`${name}: ${messageOf(error)}`];
  }
}

/** The control planes of the lane. */
export function planesOf({ machines }: Pick<LaneContext, 'machines'>): readonly Machine[] {
  return machines.filter((machine) => machine.role === 'controlplane');
}

/** What an error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

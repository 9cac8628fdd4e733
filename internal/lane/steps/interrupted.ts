import { type AuditLine, untilAudit } from '../audit.ts';
import type { Checks } from '../checks.ts';
import { type IchorRun, lastLine } from '../ichor.ts';
import type { LaneContext, Step } from '../model.ts';
import { checkNoneUnderWay } from '../operations.ts';
import { checkWhole, isSent, planesOf, rotateArgs } from '../rotate.ts';
import type { Watched } from '../tally.ts';
import { watchCluster } from '../watch.ts';

/** Kills between the marker and the reboot and during the reboot, then a deletion before the point of no return. */
export const interrupted: Step = {
  id: 'interrupted',
  title: 'Kill ichor twice in the first reboot of an etcd rotation, then abandon the rotation',
  stands: ['second list, 2'],
  disturbs: 'reboots one or two control planes, and kills ichor with SIGKILL meanwhile',
  needs: ['before'],
  async run(context, checks) {
    const before = await trustFiles(context);
    const watch = watchCluster(context);
    const machine = await killTwice(context, checks);
    checkOneAtATime(checks, await watch.stop(), machine);
    await abandon(context, checks, before);
  },
};

/** @returns the control plane whose reboot was interrupted */
async function killTwice(context: LaneContext, checks: Checks): Promise<string | undefined> {
  const first = await startAndAwait(context, (line) => line.effect === 'reboot' && line.phase === 'before');
  first.run.kill();
  await first.run.ended;
  const machine = first.line?.machine;
  checks.that(
    'ichor was killed after it had noted a reboot and before it had its answer',
    machine !== undefined,
    machine ?? lastLine(first.run.output()),
  );
  if (machine === undefined) return undefined;
  const second = await startAndAwait(context, (line) => isSent(line, 'reboot') || line.effect === 'uncordon');
  second.run.kill();
  await second.run.ended;
  checks.that(
    'it was started again, went on with the same machine, and was killed while that rebooted',
    second.line?.machine === machine,
    second.line === undefined ? lastLine(second.run.output()) : `${second.line.effect} ${second.line.machine}`,
  );
  const third = await startAndAwait(context, (line) => line.effect === 'uncordon' && line.phase === 'after');
  checks.that(
    'it was started again and brought that machine back to work',
    third.line?.machine === machine,
    third.line === undefined ? lastLine(third.run.output()) : `uncordoned ${third.line.machine}`,
  );
  const paused = await context.ichor.run(['operation', 'pause']);
  checks.that('the rotation can be paused while it runs', paused.code === 0, lastLine(paused.output));
  third.run.kill();
  await third.run.ended;
  return machine;
}

interface Awaited {
  readonly run: IchorRun;
  readonly line: AuditLine | undefined;
}

async function startAndAwait(context: LaneContext, fits: (line: AuditLine) => boolean): Promise<Awaited> {
  const seen = (await context.audit()).length;
  const run = context.ichor.start(rotateArgs(['etcd']));
  const { audit, clock } = context;
  return { run, line: await untilAudit({ audit, clock, seen, fits, over: () => run.isOver() }) };
}

function checkOneAtATime(checks: Checks, watched: Watched, machine: string | undefined): void {
  checks.that(
    'no second control plane went away while the first was rebooting',
    watched.silentAtOnce <= 1,
    `${watched.silentAtOnce} at once`,
  );
  checks.that(
    'the interrupted machine rebooted once, or twice where the first request had arrived after all',
    machine !== undefined && [1, 2].includes(watched.boots[machine] ?? 0),
    Object.entries(watched.boots)
      .map(([name, times]) => `${name} ${times}`)
      .join(', ') || 'none rebooted',
  );
}

/** A rotation that stands in Accepting is deleted: nothing of it stays, and every machine is as it was. */
async function abandon(context: LaneContext, checks: Checks, before: Record<string, string>): Promise<void> {
  const { ichor, clock } = context;
  const stood = await ichor.run(['operation', 'get', '-o', 'json']);
  const deleted = await ichor.run(['operation', 'delete', '--yes']);
  checks.that(
    'a rotation that is paused in Accepting can be deleted',
    deleted.code === 0 && /"stage":\s*"Accepting"/.test(stood.output),
    lastLine(deleted.output),
  );
  await checkNoneUnderWay(context, checks);
  const status = await ichor.run(['cluster', 'status']);
  checks.that(
    'the configurations are free of it (no drift, no operation)',
    status.output.includes('no drift') && status.output.includes('no operation is under way'),
    `exit code ${status.code}`,
  );
  const deadline = clock.monotonic() + 120_000;
  let now = await trustFiles(context);
  while (JSON.stringify(now) !== JSON.stringify(before) && clock.monotonic() < deadline) {
    await clock.sleep(1_000);
    now = await trustFiles(context);
  }
  for (const [name, trusted] of Object.entries(now)) {
    checks.that(`ca.crt of ${name} is what it was`, trusted === before[name], trusted.slice(0, 40));
  }
  await checkWhole(context, checks);
}

async function trustFiles(context: LaneContext): Promise<Record<string, string>> {
  const files = planesOf(context).map(async (machine) => {
    const trusted = await context.readings.etcdTrustFile(machine).catch((error: Error) => [error.message]);
    return [machine.name, trusted.join(', ')] as const;
  });
  return Object.fromEntries(await Promise.all(files));
}

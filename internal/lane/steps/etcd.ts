import type { Checks } from '../checks.ts';
import type { LaneContext, Step } from '../model.ts';
import { checkEnd, isSent, planesOf, type Rotated, rotate } from '../rotate.ts';
import { collectSnapshot, openSnapshot } from '../snapshot.ts';
import type { Watched } from '../tally.ts';

/** The etcd CA alone: nothing is handed over, one control plane reboots at a time, and every trust file goes through its three contents. */
export const etcd: Step = {
  id: 'etcd',
  title: 'Rotate the etcd CA alone',
  stands: ['first list, 2', 'first list, 7', 'second list, 1'],
  disturbs: 'reboots every control plane twice, one at a time, each after a drain',
  needs: ['before'],
  async run(context, checks) {
    const rotated = await rotate(context, ['etcd']);
    checks.that(
      'no credentials are handed over (the stage AwaitingCredentials does not come)',
      !rotated.trail.some((line) => line.stage === 'AwaitingCredentials'),
      stagesOf(rotated),
    );
    checkRoll(context, checks, rotated);
    checkTrustFiles(context, checks, rotated.watched);
    await checkEnd(context, checks, rotated);
    for (const machine of planesOf(context)) {
      checks.that(
        `the etcd of ${machine.name} trusts a certificate that the other CA signed (the assumption that the rotation stands on)`,
        await context.readings.etcdHealthy(machine).catch(() => false),
        `Talos ${machine.talos}`,
      );
    }
  },
};

/** Reboots one after the other: one cordoned Node, one silent machine, no member lost. */
export function checkRoll(context: LaneContext, checks: Checks, { watched, trail }: Rotated): void {
  checks.that(
    'at most one Node is cordoned at a time',
    watched.cordonedAtOnce <= 1,
    `${watched.cordonedAtOnce} at once`,
  );
  checks.that(
    'at most one control plane is away at a time',
    watched.silentAtOnce <= 1,
    `${watched.silentAtOnce} at once`,
  );
  checks.that(
    'no etcd loses a member',
    watched.lostMembers.length === 0,
    watched.lostMembers.join(', ') || `${watched.looks} looks, none lost`,
  );
  for (const { name } of planesOf(context)) {
    const asked = trail.filter((line) => line.machine === name && isSent(line, 'reboot')).length;
    const seen = watched.boots[name] ?? 0;
    checks.that(
      `${name} rebooted as often as it was asked to, after Accepting and after Dropping at least`,
      seen === asked && asked >= 2 && asked <= 3,
      `asked ${asked} times, seen ${seen} times`,
    );
  }
  const workers = context.machines.filter(({ role }) => role === 'worker').map(({ name }) => name);
  const rebooted = workers.filter((name) => (watched.boots[name] ?? 0) > 0);
  checks.that('no worker rebooted', rebooted.length === 0, rebooted.join(', ') || `${workers.length} workers, none`);
}

/** old · old, new · new, old · new: in this order on every control plane. */
export function checkTrustFiles(context: LaneContext, checks: Checks, { trustFiles }: Watched): void {
  for (const { name } of planesOf(context)) {
    const found = trustFiles[name] ?? [];
    const [old = '', incoming = ''] = [found[0]?.[0], found.at(-1)?.[0]];
    const wanted = [[old], [old, incoming], [incoming, old], [incoming]];
    checks.that(
      `ca.crt of ${name} holds the old CA, then old and new, then new and old, then the new one alone`,
      JSON.stringify(found) === JSON.stringify(wanted) && old !== incoming,
      found.map((each) => each.map((fingerprint) => fingerprint.slice(0, 8)).join('+')).join(' → ') ||
        'nothing was read',
    );
  }
}

function stagesOf({ trail }: Rotated): string {
  return [...new Set(trail.map((line) => line.stage))].join(' → ');
}

/** What is left of the old etcd CA, and whether everything of before can still be read. */
export const etcdAfter: Step = {
  id: 'etcd-after',
  title: 'Read what was written before, through the new etcd CA',
  stands: ['first list, 3'],
  needs: ['etcd'],
  async run(context, checks) {
    const { readings, memory } = context;
    for (const machine of planesOf(context)) {
      const { trusted, leafByFirst } = await readings.etcdPki(machine);
      checks.that(
        `etcdrootsecret of ${machine.name} holds one CA, which is not the old one`,
        trusted.length === 1 && trusted[0] !== memory.etcdCa,
        trusted.map((each) => each.slice(0, 16)).join(', '),
      );
      checks.that(`the new CA signed what the etcd of ${machine.name} serves`, leafByFirst, leafByFirst ? 'yes' : 'no');
      checks.that(`the etcd of ${machine.name} is healthy`, await readings.etcdHealthy(machine), 'status and alarms');
    }
    const value = await readings.readConfigMap(memory.configMap ?? '');
    checks.that('the ConfigMap of before is readable', value === memory.configMap, value ?? 'it is not there');
    const [plane] = planesOf(context);
    if (plane !== undefined) {
      const taken = await readings.etcdSnapshot(plane, collectSnapshot);
      checks.that('a snapshot taken now is whole', taken.ok, taken.ok ? `${taken.bytes.length} bytes` : taken.problem);
    }
    await checkSnapshotOfBefore(context, checks);
  },
};

/** The backup key never changes: the bundle of after opens the snapshot of before. */
export async function checkSnapshotOfBefore(context: LaneContext, checks: Checks): Promise<void> {
  const { snapshot } = context.memory;
  if (snapshot === undefined) return;
  const what = 'the bundle as it is now opens the snapshot of before';
  try {
    const { whole, sha256 } = await openSnapshot(snapshot.path, await context.bundle());
    checks.that(
      what,
      whole && sha256 === snapshot.sha256,
      whole ? 'it opens and is whole' : 'it opens and is not whole',
    );
  } catch (error) {
    checks.that(what, false, error instanceof Error ? error.message : String(error));
  }
}

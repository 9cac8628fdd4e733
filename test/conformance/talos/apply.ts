import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Change } from '../../../pkg/machineconfig/index.ts';
import { renderStage } from '../../../pkg/machineconfig/index.ts';
import { Secret } from '../../../pkg/pki/index.ts';
import { type ApplyMode, OS_ROOT, type TalosMachine } from '../../../pkg/talos/index.ts';
import { ALWAYS, PKI_KINDS } from './kinds.ts';
import { type ChangeKind, changeOf } from './material.ts';
import { eventually, failureOf, footprint, moved, PATIENT, until, withoutLostLeases } from './subject.ts';
import type { Subject } from './target.ts';

const WITHOUT_REBOOT = 'Applied configuration without a reboot';
const STAGED = 'Staged configuration to be applied after the next reboot';

/** How long a tried change lasts: what is asked while it does must be answered within it, on a busy host too. */
const TRY_MS = 8_000;

const secret = (text: string) => Secret.of('machine-config', text);
const current = async (machine: TalosMachine) => (await machine.configuration('active')).config.expose();

/** What a machine answers to each mode, and what each mode does. */
export function applyConformance(subject: () => Subject): void {
  dryRunConformance(subject);
  describe('the same configuration again', PATIENT, () => {
    it.each<ApplyMode>(['AUTO', 'NO_REBOOT'])(
      'in mode %s moves the configuration’s versions and nothing else',
      async (mode) => {
        const { first } = subject();
        const before = await footprint(first, PKI_KINDS);

        const result = await first.apply({ config: secret(await current(first)), mode });

        expect(result).toEqual({ mode: 'NO_REBOOT', warnings: [], details: WITHOUT_REBOOT });
        expect(withoutLostLeases(moved(before, await footprint(first, PKI_KINDS)), ALWAYS)).toEqual(ALWAYS);
      },
    );

    it('in mode STAGED moves the persistent one only', async () => {
      const { first } = subject();
      const before = await footprint(first, PKI_KINDS);

      const result = await first.apply({ config: secret(await current(first)), mode: 'STAGED' });

      expect(result).toEqual({ mode: 'STAGED', warnings: [], details: STAGED });
      expect(withoutLostLeases(moved(before, await footprint(first, PKI_KINDS)), [])).toEqual([
        'MachineConfig/persistent',
      ]);
    });
  });

  describe('a staged change', PATIENT, () => {
    it('is persistent and not active; an apply that starts from the active one throws it away', async () => {
      const { first } = subject();
      const active = await current(first);
      const staged = withComment(active, 'staged');

      await first.apply({ config: secret(staged), mode: 'STAGED' });

      expect(await current(first)).toBe(active);
      expect((await first.configuration('persistent')).config.expose()).toBe(staged);
      await first.apply({ config: secret(active), mode: 'NO_REBOOT' });
      expect((await first.configuration('persistent')).config.expose()).toBe(active);
    });
  });

  describe('a tried change', PATIENT, () => {
    it('is active and not persistent, and the machine goes back by itself', async () => {
      const { first } = subject();
      const config = await current(first);
      const tried = withComment(config, 'tried');

      const result = await first.apply({ config: secret(tried), mode: 'TRY', tryTimeoutMs: TRY_MS });

      expect(result.mode).toBe('TRY');
      expect(result.details.split('\n')).toHaveLength(2);
      expect(await current(first)).toBe(tried);
      expect((await first.configuration('persistent')).config.expose()).toBe(config);
      await until('the machine is back on its configuration', 60_000, async () => (await current(first)) === config);
    });

    it.each([
      ['a dry run', true],
      ['an invalid apply', false],
    ])('is taken back in time also after %s', async (_name, dryRun) => {
      const { first } = subject();
      const config = await current(first);
      const tried = withComment(config, 'tried');

      await first.apply({ config: secret(tried), mode: 'TRY', tryTimeoutMs: TRY_MS });
      const other = first.apply({ config: secret(dryRun ? config : 'a: ['), mode: 'NO_REBOOT', dryRun });
      if (dryRun) await other;
      else await failureOf(other);

      expect(await current(first)).toBe(tried);
      await until('the machine is back on its configuration', 60_000, async () => (await current(first)) === config);
    });

    it('of the Talos CAs is in force while it lasts, and no longer', async () => {
      const { first, target } = subject();
      const tried = await accepting(first, await changeOf('talos', target.bundle));
      const accepted = async () => (await first.get(OS_ROOT))?.spec.accepted.length;

      await first.apply({ config: secret(tried), mode: 'TRY', tryTimeoutMs: TRY_MS });

      await until('the machine accepts two CAs', 60_000, async () => (await accepted()) === 2);
      await until('the machine accepts the first one alone', 60_000, async () => (await accepted()) === 1);
    });

    it('stays active for good when a change is staged meanwhile', async () => {
      const { first } = subject();
      const config = await current(first);
      const tried = withComment(config, 'tried');

      await first.apply({ config: secret(tried), mode: 'TRY', tryTimeoutMs: TRY_MS });
      await first.apply({ config: secret(config), mode: 'STAGED' });

      await sleep(TRY_MS + 2_000);
      expect(await current(first)).toBe(tried);
      await first.apply({ config: secret(config), mode: 'NO_REBOOT' });
    });
  });

  describe('comments and layout', PATIENT, () => {
    it('come back byte for byte', async () => {
      const { first } = subject();
      const config = await current(first);
      const odd = `${withComment(config, 'odd   spacing, ünïcode')}\n\n# the end`;

      await first.apply({ config: secret(odd), mode: 'NO_REBOOT' });

      expect(await current(first)).toBe(odd);
      await first.apply({ config: secret(config), mode: 'NO_REBOOT' });
    });
  });

  describe('two applies at once', PATIENT, () => {
    it('are done one after the other, or the second is told that one is in progress', async () => {
      const { first } = subject();
      const config = await current(first);
      const texts = ['one', 'two', 'three', 'four'].map((word) => withComment(config, word));

      const results = await Promise.allSettled(
        texts.map((text) => first.apply({ config: secret(text), mode: 'NO_REBOOT' })),
      );

      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ kind: 'locked', outcome: 'not-done' });
      }
      expect(results.some(({ status }) => status === 'fulfilled')).toBe(true);
      const final = await eventually('the configurations agree', 60_000, async () => {
        const [active, persistent] = await Promise.all([
          first.configuration('active'),
          first.configuration('persistent'),
        ]);
        return active.config.equals(persistent.config) ? active.config.expose() : undefined;
      });
      expect(texts).toContain(final);
      await first.apply({ config: secret(config), mode: 'NO_REBOOT' });
    });
  });
}

/** What a dry run answers in each mode and for each kind of change; moves nothing. */
export function dryRunConformance(subject: () => Subject): void {
  describe('a dry run', PATIENT, () => {
    it.each<ApplyMode>(['AUTO', 'NO_REBOOT', 'STAGED', 'TRY'])(
      'in mode %s of the same configuration finds no changes',
      async (mode) => {
        const { first } = subject();
        const before = await footprint(first, PKI_KINDS);

        const result = await first.apply({ config: secret(await current(first)), mode, dryRun: true });

        expect(result.changes).toBe(false);
        expect(withoutLostLeases(moved(before, await footprint(first, PKI_KINDS)), [])).toEqual([]);
      },
    );

    it('in mode REBOOT is refused by a configured machine, and so is the real thing', async () => {
      const { first } = subject();
      const config = secret(await current(first));

      for (const dryRun of [true, false]) {
        expect(await failureOf(first.apply({ config, mode: 'REBOOT', dryRun }))).toMatchObject({
          kind: 'unsupported',
          outcome: 'not-done',
        });
      }
    });

    it.each<ChangeKind>(['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator', 'service-account', 'etcd-encryption'])(
      'of a %s change answers each mode as for any other change, so it cannot tell whether a reboot is needed',
      async (kind) => {
        const { first, target } = subject();
        const rendered = await accepting(first, await changeOf(kind, target.bundle));

        const done = { AUTO: WITHOUT_REBOOT, NO_REBOOT: WITHOUT_REBOOT, STAGED, TRY: WITHOUT_REBOOT };
        for (const mode of ['AUTO', 'NO_REBOOT', 'STAGED', 'TRY'] as const) {
          const result = await first.apply({ config: secret(rendered), mode, dryRun: true });
          expect(result).toEqual({
            mode: mode === 'AUTO' ? 'NO_REBOOT' : mode,
            warnings: [],
            details: `Dry run summary:\n${done[mode]} (skipped in dry-run).`,
            changes: true,
          });
        }
      },
    );
  });
}

function withComment(config: string, comment: string): string {
  return `# ${comment}\n${config}`;
}

/** The configuration with what is new accepted beside what is old. */
export async function accepting(machine: TalosMachine, change: Change): Promise<string> {
  const config = (await machine.configuration('active')).config.expose();
  const { tag } = await machine.version();
  return renderStage(config, [change], 'Accepting', { talosVersion: tag });
}

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../../pkg/pki/index.ts';
import { createTalosMachine, isTalosError, type TalosMachine } from '../../../pkg/talos/index.ts';
import { type LossyProxy, lossyProxy } from '../../support/lossy-proxy.ts';
import { PKI_KINDS } from './kinds.ts';
import { atRest, failureOf, PATIENT, persistent, podsReady, until } from './subject.ts';
import type { Subject } from './target.ts';

/** Lost replies, dropped requests and repeated ones, of the calls that change a machine. Reboots the first control plane. */
export function faultsConformance(subject: () => Subject): void {
  describe('a call over a bad network', PATIENT, () => {
    let proxy: LossyProxy;
    let distant: TalosMachine;

    beforeAll(async () => {
      const { first, target } = subject();
      proxy = await lossyProxy({ host: first.address, port: 50_000 });
      distant = createTalosMachine({
        name: first.name,
        address: '127.0.0.1',
        port: proxy.port,
        servername: first.address,
        trust: [target.bundle.talos.certificate],
        credentials: target.credentials,
      });
    });

    afterAll(() => {
      distant.close();
      proxy.close();
    });

    const active = async () => await subject().first.configuration('active');
    const back = async (before: string) => {
      const { first } = subject();
      await until(
        `${first.name} has another boot ID`,
        600_000,
        async () => (await first.bootId({ fresh: true })) !== before,
      );
      await podsReady(first);
    };

    it('without a fault does what a direct one does', async () => {
      proxy.fault = 'none';

      expect((await distant.version({ fresh: true })).rbac).toBe(true);
    });

    it('an apply whose reply is lost is unknown to us and done by the machine; repeating it is harmless', async () => {
      const before = await active();
      const config = Secret.of('machine-config', `# lost reply\n${before.config.expose()}`);
      proxy.fault = 'lose-reply';

      const error = await failureOf(distant.apply({ config, mode: 'NO_REBOOT' }));

      expect(error).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
      await until('the configuration is there', 60_000, async () => (await active()).config.equals(config));
      await subject().first.apply({ config, mode: 'NO_REBOOT' });
      expect((await active()).config.equals(config)).toBe(true);
      await subject().first.apply({ config: before.config, mode: 'NO_REBOOT' });
    });

    it('an apply whose request is dropped is unknown to us and not done', async () => {
      const before = await active();
      const config = Secret.of('machine-config', `# dropped\n${before.config.expose()}`);
      proxy.fault = 'drop-request';

      const error = await failureOf(distant.apply({ config, mode: 'NO_REBOOT' }));

      expect(error).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
      await sleep(2_000);
      expect(await active()).toEqual(before);
    });

    it('a reboot whose request is dropped is unknown to us and does not happen', async () => {
      const before = await subject().first.bootId();
      proxy.fault = 'drop-request';

      const error = await failureOf(distant.reboot('DEFAULT'));

      expect(error).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
      await sleep(15_000);
      expect(await subject().first.bootId({ fresh: true })).toBe(before);
    });

    it('a reboot whose reply is lost is unknown to us and happens', async () => {
      const before = await subject().first.bootId();
      proxy.fault = 'lose-reply';

      const error = await failureOf(distant.reboot('DEFAULT'));

      expect(error).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
      await back(before);
    });
  });

  describe('a reboot', PATIENT, () => {
    it('asked for twice is done once; it makes active what was staged, and begins the versions anew', async () => {
      const { first } = subject();
      const before = await first.bootId();
      const { config, version } = await first.configuration('active');
      const staged = Secret.of('machine-config', `# staged\n${config.expose()}`);
      await first.apply({ config: staged, mode: 'STAGED' });

      const one = await first.reboot('DEFAULT');
      const two = await first.reboot('DEFAULT').catch((error: unknown) => error);

      // Accepted with an actor of its own, or cut off by the first one going on; never a second reboot afterwards.
      if (!isTalosError(two)) expect(two).not.toEqual(one);
      await until('it is back', 600_000, async () => (await first.bootId({ fresh: true })) !== before);
      const after = await first.bootId();
      await until('the staged configuration is active', 120_000, async () =>
        (await first.configuration('active')).config.equals(staged),
      );
      expect((await first.configuration('active')).version).toBeLessThanOrEqual(version);
      // Not even the one that it booted from: it comes into being with the next apply.
      expect(await persistent(first)).toBeUndefined();
      await podsReady(first);
      await first.apply({ config, mode: 'NO_REBOOT' });
      // A machine goes on settling after a boot, its kubelet above all.
      await atRest(first, PKI_KINDS, 20_000);
      expect(await first.bootId({ fresh: true })).toBe(after);
    });
  });
}

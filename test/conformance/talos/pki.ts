import { describe, expect, it } from 'vitest';
import { ALWAYS, PKI_KINDS } from './kinds.ts';
import { aggregatorAloneConformance, kubernetesStagesConformance } from './kubernetes-pki.ts';
import { changeOf } from './material.ts';
import { caOf, stagedChanges } from './staging.ts';
import { change as changeConfig, effectOf, PATIENT } from './subject.ts';
import { talosPkiConformance } from './talos-pki.ts';
import type { Subject } from './target.ts';

/**
 * What each stage of each target does to one control plane, beginning with the
 * cluster's first material. Leaves the cluster on new material.
 */
export function pkiConformance(subject: () => Subject): void {
  const changes = stagedChanges(subject);
  aggregatorAloneConformance(subject, changes);
  kubernetesStagesConformance(subject, changes);
  etcdMistakeConformance(subject);
  talosPkiConformance(subject, changes);
}

function etcdMistakeConformance(subject: () => Subject): void {
  describe('a mistake in the etcd CA', PATIENT, () => {
    it('is applied without a word: a key that does not fit leaves the old leaves in place', async () => {
      const { first, target } = subject();
      const { config } = await first.configuration('active');
      const good = Buffer.from(target.bundle.etcd.key.expose()).toString('base64');
      const foreign = caOf(await changeOf('etcd', target.bundle)).new;
      const bad = Buffer.from(foreign.key.expose()).toString('base64');

      const effects = await effectOf(first, PKI_KINDS, {
        act: () => changeConfig(first, (text) => text.replaceAll(good, bad)),
        expected: ['EtcdRoot', ...ALWAYS],
        quietMs: 10_000,
      });

      expect(effects).toEqual(['EtcdRoot', ...ALWAYS]);
      await effectOf(first, PKI_KINDS, {
        act: () => first.apply({ config, mode: 'NO_REBOOT' }),
        expected: ['EtcdRoot', 'EtcdSecrets', 'PKIStatus'],
        quietMs: 5_000,
      });
    });
  });
}

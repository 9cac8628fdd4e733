import { beforeAll, describe, expect, it } from 'vitest';
import {
  createKubeClient,
  deleteAggregatorAuth,
  fromKubeconfig,
  type KubeClient,
  readAggregatorAuth,
} from '../../../pkg/kube/index.ts';
import type { Change } from '../../../pkg/machineconfig/index.ts';
import type { CertificateAndKey } from '../../../pkg/pki/index.ts';
import type { TalosMachine } from '../../../pkg/talos/index.ts';
import { STATIC_PODS } from './kinds.ts';
import { changeOf } from './material.ts';
import { bring, caOf, prints } from './staging.ts';
import { effectOf, PATIENT, until } from './subject.ts';
import type { Subject } from './target.ts';

/**
 * The ConfigMap that tells aggregated API servers whom to believe, over several
 * control planes. Leaves the cluster on a new aggregator CA.
 */
export function aggregatorMapConformance(subject: () => Subject): void {
  describe('extension-apiserver-authentication', PATIENT, () => {
    let change: Change;
    let ca: { old: CertificateAndKey; new: CertificateAndKey };

    beforeAll(async () => {
      change = await changeOf('kubernetes-aggregator', subject().target.bundle);
      ca = caOf(change);
    });

    const restart = (machine: TalosMachine, stage: 'Accepting' | 'Dropping') =>
      effectOf(machine, {}, { act: () => bring(machine, change, stage), expected: STATIC_PODS, quietMs: 1_000 });
    const held = async (client: KubeClient) => {
      const map = await readAggregatorAuth(client);
      return map?.requestHeaderCas.toSorted();
    };
    const both = () => prints([ca.old.certificate, ca.new.certificate])?.toSorted();

    it('holds the union as soon as one API server accepts the new CA', async () => {
      await restart(subject().first, 'Accepting');
      await using api = await apiServerOf(subject().first);

      await until('both CAs are published', 120_000, async () => String(await held(api.client)) === String(both()));
    });

    it('never shrinks, even when every API server has dropped the old CA', async () => {
      // The last test of this cluster: no need to go through the stages.
      await Promise.all(subject().controlPlanes.map((machine) => restart(machine, 'Dropping')));
      await using api = await apiServerOf(subject().first);

      // An API server writes it once a minute.
      await new Promise((resolve) => setTimeout(resolve, 70_000));
      expect(await held(api.client)).toEqual(both());
    });

    it('deleted then, comes back with the new CA alone and stays so', async () => {
      await using api = await apiServerOf(subject().first);
      const map = await readAggregatorAuth(api.client);

      await deleteAggregatorAuth(api.client, map?.uid ?? '');

      await until('it is there again', 120_000, async () => (await held(api.client)) !== undefined);
      expect(await held(api.client)).toEqual(prints([ca.new.certificate]));
      await new Promise((resolve) => setTimeout(resolve, 70_000));
      expect(await held(api.client)).toEqual(prints([ca.new.certificate]));
    });
  });
}

/** A client of the API server on that machine itself, as administrator. */
async function apiServerOf(machine: TalosMachine): Promise<AsyncDisposable & { client: KubeClient }> {
  const text = (await machine.kubeconfig()).expose();
  const client = createKubeClient(await fromKubeconfig(text, { server: `https://${machine.address}:6443` }));
  return { client, [Symbol.asyncDispose]: async () => client.close() };
}

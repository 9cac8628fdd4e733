import { expect, it } from 'vitest';
import { type ClusterState, createConnections, type Located } from '../../internal/controller/index.ts';
import { observeRefusals } from '../../internal/controller/observe-refusals.ts';
import { createRotationRecord } from '../../pkg/bundle/index.ts';
import { createSystemClock } from '../../pkg/clock/index.ts';
import { createCa, issueLeaf } from '../../pkg/pki/index.ts';
import { aBundleDocument } from '../builders/bundle.ts';
import { readShown } from '../recordings/facts.ts';
import { createRoles } from '../recordings/roles.ts';
import { describeReal } from '../support/real.ts';
import { startTalosLikeEtcd } from './etcd-ports.ts';

describeReal('the ports of an etcd that runs as Talos runs it', { tools: ['etcd'], linux: true }, () => {
  const aRotation = async () => {
    const { bundle } = await aBundleDocument();
    const next = await createCa('etcd', { now: Date.now() });
    const record = createRotationRecord(bundle, { etcd: next });
    return { old: bundle.etcd, next, state: { bundle, previous: undefined, record } };
  };
  const refusals = async (state: ClusterState, address: string) => {
    const machine: Located = { name: 'cp1', address, role: 'controlplane', apiServerPort: 6443 };
    const means = { connections: createConnections(), clock: createSystemClock(), state, machines: [machine] };
    const proofs = await observeRefusals({ ...means, issueLeaf });
    return proofs.map(({ what, outcome }) => [/:(\d+)\)$/.exec(what)?.[1], outcome]);
  };
  const shown = async ({ bundle, record }: ClusterState, address: string) => {
    const roles = createRoles(bundle);
    if (record !== undefined) roles.learn(record);
    const means = { connections: createConnections(), issueLeaf, now: () => Date.now(), roles };
    const facts = await readShown(means, { address, role: 'controlplane' });
    return Object.fromEntries(Object.entries(facts).filter(([name]) => name.startsWith('etcd')));
  };

  it('let in both CAs while both are trusted, and a recorder and the proof of refusal see it', async () => {
    const { old, next, state } = await aRotation();
    await using etcd = await startTalosLikeEtcd('127.83.0.1', { signer: next, trusted: [old, next] });

    expect(await refusals(state, etcd.address)).toEqual([
      ['2379', 'accepted'],
      ['2380', 'accepted'],
    ]);
    expect(await shown(state, etcd.address)).toEqual({
      'etcd serves': 'new',
      'etcd takes': 'old new',
      'etcd peer port serves': 'new',
      'etcd peer port takes': 'old new',
    });
  });

  it('refuse the old CA when it is trusted no more', async () => {
    const { next, state } = await aRotation();
    await using etcd = await startTalosLikeEtcd('127.83.0.2', { signer: next, trusted: [next] });

    expect(await refusals(state, etcd.address)).toEqual([
      ['2379', 'refused'],
      ['2380', 'refused'],
    ]);
    expect(await shown(state, etcd.address)).toMatchObject({ 'etcd takes': 'new', 'etcd peer port takes': 'new' });
  });
});

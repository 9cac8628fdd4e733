import { describe, expect, it } from 'vitest';
import type { Fingerprint } from '../../../pkg/pki/index.ts';
import { aCondition, ago, anObservation, NOW, type ObservationOptions } from '../../../test/builders/rotation.ts';
import { NEW, OLD, print } from '../../../test/builders/rotation-material.ts';
import { decide } from '../decide.ts';
import type { AuthenticationReading, Observation, StaleWorkload } from '../observation.ts';

const AGGREGATOR = 'kubernetes-aggregator';

/** extension-apiserver-authentication with these CAs. */
function holding(requestheader: readonly Fingerprint[], client: readonly Fingerprint[] = [OLD.kubernetes]) {
  return reading({ present: true, uid: 'uid-authentication', requestheader, client });
}

function reading(value: AuthenticationReading): Observation['kubernetes'] {
  return { authentication: { known: true, value } };
}

function without(observation: Observation, part: keyof Observation['kubernetes']): Observation {
  const { [part]: _gone, ...kubernetes } = observation.kubernetes;
  return { ...observation, kubernetes };
}

describe.each(['Accepting', 'AwaitingCredentials'] as const)('before the aggregator CA issues (%s)', (stage) => {
  const targets = stage === 'Accepting' ? ([AGGREGATOR] as const) : (['talos', AGGREGATOR] as const);
  const both = holding([OLD[AGGREGATOR], NEW[AGGREGATOR]]);
  function settling(options: ObservationOptions) {
    return anObservation({ stage, targets, conditions: [], ...options });
  }

  it('waits until extension-apiserver-authentication is read', () => {
    expect(decide(without(settling({}), 'authentication'))).toEqual({
      kind: 'wait',
      reason: 'SettlingAggregator',
      message: 'reading extension-apiserver-authentication',
      recheckAfterMs: 1500,
    });
  });

  it('writes down since when it holds the new CA', () => {
    const message = 'extension-apiserver-authentication holds the new aggregator CA dfdfdfdfdfdf';

    expect(decide(settling({ kubernetes: both }))).toEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'SettlingAggregator',
      message,
      conditions: [{ type: 'AggregatorAccepted', status: 'True', reason: 'SettlingAggregator', message }],
    });
  });

  it('gives extension API servers two minutes from then', () => {
    const conditions = [aCondition('AggregatorAccepted', 'True', 75)];

    expect(decide(settling({ kubernetes: both, conditions }))).toEqual({
      kind: 'wait',
      reason: 'SettlingAggregator',
      message:
        'extension-apiserver-authentication holds the new aggregator CA dfdfdfdfdfdf; extension API servers have 45 s more to read it',
      recheckAfterMs: 5000,
    });
  });

  it('looks again at their end, not after it', () => {
    const conditions = [aCondition('AggregatorAccepted', 'True', 117)];

    expect(decide(settling({ kubernetes: both, conditions }))).toMatchObject({ kind: 'wait', recheckAfterMs: 3000 });
  });

  it('goes on after them, by the time of the condition, which a restart does not lose', () => {
    const conditions = [aCondition('AggregatorAccepted', 'True', 120)];

    expect(decide(settling({ kubernetes: both, conditions }))).toMatchObject({ effect: { kind: 'enter-stage' } });
  });

  it.each([
    ['holds the old CA alone', holding([OLD[AGGREGATOR]])],
    ['is not there', reading({ present: false })],
  ])('waits while it %s, and says so where that stays', (_what, kubernetes) => {
    const expected = {
      reason: 'SettlingAggregator',
      message: 'extension-apiserver-authentication does not hold the new aggregator CA dfdfdfdfdfdf yet',
    };

    expect(decide(settling({ kubernetes, status: { stageStartedAt: ago(60) } }))).toEqual({
      ...expected,
      kind: 'wait',
      recheckAfterMs: 1500,
    });
    expect(decide(settling({ kubernetes }))).toMatchObject({ ...expected, kind: 'blocked' });
  });

  it('starts the two minutes again when the new CA vanished', () => {
    const conditions = [aCondition('AggregatorAccepted', 'True', 600)];

    expect(decide(settling({ kubernetes: holding([OLD[AGGREGATOR]]), conditions }))).toMatchObject({
      effect: { kind: 'update-status' },
      conditions: [{ type: 'AggregatorAccepted', status: 'False' }],
    });
  });

  it('blocks where no API server shows it', () => {
    const kubernetes = { authentication: { known: false, why: 'failed', message: '403 Forbidden' } } as const;

    expect(decide(settling({ kubernetes }))).toMatchObject({
      kind: 'blocked',
      reason: 'KubernetesUnknown',
      message: 'extension-apiserver-authentication: 403 Forbidden',
    });
  });
});

describe('the hand-off', () => {
  const handoff = (value: string) => ({ annotations: { 'ichor.maesh.dev/credentials-handoff': value } });
  const token = 'talos=afafafafafafafaf,kubernetes=bfbfbfbfbfbfbfbf';

  it('waits for the acknowledgement', () => {
    expect(decide(anObservation({ stage: 'AwaitingCredentials', ...handoff('') }))).toEqual({
      kind: 'wait',
      reason: 'AwaitingCredentials',
      message:
        'the new talosconfig and kubeconfig are ready; waiting for the acknowledgement that somebody has taken them',
      recheckAfterMs: 1500,
      watch: [],
    });
  });

  it('goes on with the token of this rotation', () => {
    expect(decide(anObservation({ stage: 'AwaitingCredentials', ...handoff(token) }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Issuing' },
    });
  });

  it.each(['talos=a01da01da01da01d,kubernetes=b01db01db01db01d', 'talos=afafafafafafafaf', 'yes'])(
    'does not take %s for it',
    (value) => {
      expect(decide(anObservation({ stage: 'AwaitingCredentials', ...handoff(value) })).reason).toBe(
        'AwaitingCredentials',
      );
    },
  );

  it('takes no empty token, whatever the status lost', () => {
    const status = { certificates: [] };

    expect(decide(anObservation({ stage: 'AwaitingCredentials', status, ...handoff('') })).reason).toBe(
      'AwaitingCredentials',
    );
  });

  it('names etcd and aggregator CAs in the token too', () => {
    const targets = ['talos', 'etcd', AGGREGATOR] as const;
    const given = 'talos=afafafafafafafaf,etcd=cfcfcfcfcfcfcfcf,kubernetes-aggregator=dfdfdfdfdfdfdfdf';

    expect(decide(anObservation({ stage: 'AwaitingCredentials', targets, ...handoff(given) }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Issuing' },
    });
  });

  it('asks the proofs again after it: a machine may have joined meanwhile', () => {
    const except = { w1: { stands: 'Before' } } as const;

    expect(decide(anObservation({ stage: 'AwaitingCredentials', except, ...handoff(token) }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'w1', stage: 'Accepting' },
    });
  });
});

describe('before the old Kubernetes CA is dropped', () => {
  const issuing = (kubernetes: Observation['kubernetes'], options: ObservationOptions = {}) =>
    anObservation({ stage: 'Issuing', targets: ['kubernetes'], kubernetes, ...options });

  it('every kube-root-ca.crt must be the new CA', () => {
    const rootCa = { known: true, value: { total: 9, stale: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] } } as const;

    const expected = {
      reason: 'PublishingRootCA',
      message: 'kube-root-ca.crt is not the new CA in 7 of 9 namespaces: a, b, c, d, e and 2 more',
    };
    const soon = { conditions: [], status: { stageStartedAt: ago(60) } };

    expect(decide(issuing({ rootCa }, soon))).toEqual({ ...expected, kind: 'wait', recheckAfterMs: 1500 });
    expect(decide(issuing({ rootCa }, { conditions: [] }))).toMatchObject({ ...expected, kind: 'blocked' });
  });

  it('writes down the moment at which they are', () => {
    const rootCa = { known: true, value: { total: 9, stale: [] } } as const;
    const message = 'kube-root-ca.crt is the new CA in all 9 namespaces';

    expect(decide(issuing({ rootCa }, { conditions: [] }))).toEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'PublishingRootCA',
      message,
      conditions: [{ type: 'RootCaPublished', status: 'True', reason: 'PublishingRootCA', message }],
    });
  });

  it('keeps that moment when a namespace is made, and waits for it', () => {
    const rootCa = { known: true, value: { total: 10, stale: ['ci-17'] } } as const;

    expect(decide(issuing({ rootCa }))).toMatchObject({ kind: 'wait', reason: 'PublishingRootCA' });
  });

  it('forgets that moment when the old CA is published again', () => {
    const rootCa = { known: true, value: { total: 9, stale: ['default', 'kube-system'] } } as const;

    expect(decide(issuing({ rootCa }))).toMatchObject({
      effect: { kind: 'update-status' },
      conditions: [{ type: 'RootCaPublished', status: 'False' }],
    });
  });

  it('names five namespaces, and no more that are none', () => {
    const rootCa = { known: true, value: { total: 9, stale: ['a', 'b', 'c', 'd', 'e'] } } as const;

    expect(decide(issuing({ rootCa })).message).toBe(
      'kube-root-ca.crt is not the new CA in 5 of 9 namespaces: a, b, c, d, e',
    );
  });

  it('has no moment to forget before there was one', () => {
    const rootCa = { known: true, value: { total: 9, stale: ['kube-system'] } } as const;

    expect(decide(issuing({ rootCa }, { conditions: [] }))).toMatchObject({
      kind: 'blocked',
      reason: 'PublishingRootCA',
    });
  });

  it('waits until they are read, and blocks where they cannot be', () => {
    expect(decide(without(issuing({}), 'rootCa'))).toMatchObject({
      kind: 'wait',
      reason: 'PublishingRootCA',
      message: 'reading kube-root-ca.crt of every namespace',
    });
    expect(decide(issuing({ rootCa: { known: false, why: 'failed', message: '503' } }))).toMatchObject({
      kind: 'blocked',
      reason: 'KubernetesUnknown',
      message: 'kube-root-ca.crt: 503',
    });
  });

  const web: StaleWorkload = { owner: 'default/Deployment/web', pods: 3, restartable: true };
  const db: StaleWorkload = { owner: 'default/StatefulSet/db', pods: 1, restartable: true };
  const bare: StaleWorkload = { owner: 'default/Pod/debug', pods: 1, restartable: false };
  const stale = (...value: StaleWorkload[]) => ({ stalePods: { known: true as const, value } });

  it('workloads of before are left alone unless asked for', () => {
    expect(decide(issuing(stale(web)))).toMatchObject({ effect: { kind: 'enter-stage', stage: 'Dropping' } });
  });

  it('workloads of before are restarted one after the other when asked for', () => {
    expect(decide(issuing(stale(web, db), { restartWorkloads: 'Rolling' }))).toEqual({
      kind: 'act',
      effect: { kind: 'restart-workload', owner: 'default/Deployment/web' },
      reason: 'RestartingWorkloads',
      message: 'default/Deployment/web: 3 pods started with the old root CA; restarting it',
    });
  });

  it('a second one may be restarted beside the first, a third may not', () => {
    const cron = { ...db, owner: 'default/DaemonSet/log' };
    const going = { ...web, restart: { message: '1 of 3 pods are new' } };

    expect(decide(issuing(stale(going, db, cron), { restartWorkloads: 'Rolling' }))).toMatchObject({
      effect: { kind: 'restart-workload', owner: 'default/StatefulSet/db' },
    });
    expect(
      decide(
        issuing(stale(going, { ...db, restart: { message: '0 of 1 pods are new' } }, cron), {
          restartWorkloads: 'Rolling',
        }),
      ),
    ).toEqual({
      kind: 'wait',
      reason: 'RestartingWorkloads',
      message: 'restarting default/Deployment/web, default/StatefulSet/db; 3 workloads left',
      recheckAfterMs: 1500,
    });
  });

  const paused = { ...web, owner: 'default/Deployment/app', heldBy: 'its rollouts are paused' };
  const onDelete = { ...db, owner: 'default/DaemonSet/cni', heldBy: 'it replaces a pod only when somebody deletes it' };

  it('a workload that no rollout restarts does not keep the others', () => {
    expect(decide(issuing(stale(paused, onDelete, db), { restartWorkloads: 'Rolling' }))).toMatchObject({
      effect: { kind: 'restart-workload', owner: 'default/StatefulSet/db' },
    });
    const going = { ...db, restart: { message: '0 of 1 pods are new' } };
    expect(decide(issuing(stale(paused, going), { restartWorkloads: 'Rolling' }))).toMatchObject({ kind: 'wait' });
  });

  it('workloads that no rollout restarts are named when the others are done', () => {
    expect(decide(issuing(stale(paused, onDelete), { restartWorkloads: 'Rolling' }))).toEqual({
      kind: 'blocked',
      reason: 'RestartingWorkloads',
      message:
        'pods that started with the old root CA cannot be restarted: default/Deployment/app (its rollouts are paused), default/DaemonSet/cni (it replaces a pod only when somebody deletes it); expected their owners to replace these pods',
      recheckAfterMs: 30_000,
    });
  });

  it('a restart that does not end in twenty minutes makes room for the others, and is named when they are done', () => {
    const asked = (secondsAgo: number) => ({ message: '1 of 3 pods are new', since: NOW - secondsAgo * 1000 });
    const publishedFor = (seconds: number): ObservationOptions => ({
      restartWorkloads: 'Rolling',
      conditions: [aCondition('RootCaPublished', 'True', seconds)],
    });
    const rolling = publishedFor(1200);
    const going = { ...web, restart: asked(1199) };
    const stuck = { ...web, restart: asked(1200) };
    const foreign = { ...db, restart: { message: '0 of 1 new pods are available' } };

    expect(decide(issuing(stale(going, foreign), rolling))).toMatchObject({
      kind: 'wait',
      message: 'restarting default/Deployment/web; 2 workloads left',
    });
    expect(decide(issuing(stale(stuck, { ...stuck, owner: 'default/Deployment/api' }, db), rolling))).toMatchObject({
      effect: { kind: 'restart-workload', owner: 'default/StatefulSet/db' },
    });
    expect(decide(issuing(stale(stuck, foreign), rolling))).toEqual({
      kind: 'blocked',
      reason: 'RestartingWorkloads',
      message:
        'pods that started with the old root CA cannot be restarted: default/Deployment/web (its restart has not ended after 20 minutes: 1 of 3 pods are new), default/StatefulSet/db (its restart has not ended after 20 minutes: 0 of 1 new pods are available); expected their owners to replace these pods',
      recheckAfterMs: 30_000,
    });
    // One that was under way before has twenty minutes from the new root CA on.
    expect(decide(issuing(stale(stuck, foreign), publishedFor(1199)))).toMatchObject({ kind: 'wait' });
  });

  it('pods that nobody can restart do not hold the rotation', () => {
    expect(decide(issuing(stale(bare), { restartWorkloads: 'Rolling' }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Dropping' },
    });
  });

  it('waits until pods are listed, and blocks where they cannot be', () => {
    const options = { restartWorkloads: 'Rolling' } as const;

    expect(decide(without(issuing({}, options), 'stalePods'))).toMatchObject({
      kind: 'wait',
      reason: 'RestartingWorkloads',
      message: 'listing pods that started with the old root CA',
    });
    expect(decide(issuing({ stalePods: { known: false, why: 'failed', message: '503' } }, options))).toMatchObject({
      kind: 'blocked',
      reason: 'KubernetesUnknown',
      message: 'pods: 503',
    });
  });
});

describe('the reset of extension-apiserver-authentication in Finalizing', () => {
  const targets = [AGGREGATOR] as const;
  function finalizing(kubernetes: Observation['kubernetes'], options: ObservationOptions = {}) {
    return anObservation({ stage: 'Finalizing', targets, kubernetes, conditions: [], ...options });
  }
  const right = holding([NEW[AGGREGATOR]]);

  it('deletes one that holds the old CA beside the new one, by its UID', () => {
    expect(decide(finalizing(holding([OLD[AGGREGATOR], NEW[AGGREGATOR]])))).toEqual({
      kind: 'act',
      effect: { kind: 'reset-authentication', uid: 'uid-authentication' },
      reason: 'ResettingAuthentication',
      message:
        'requestheader-client-ca-file of extension-apiserver-authentication holds d01dd01dd01d, dfdfdfdfdfdf; expected dfdfdfdfdfdf alone; deleting it, so that the API servers write it anew',
    });
  });

  it('does not take a missing one for a right one', () => {
    const expected = {
      reason: 'ResettingAuthentication',
      message: 'extension-apiserver-authentication is not there',
    };
    const missing = reading({ present: false });

    expect(decide(finalizing(missing, { status: { stageStartedAt: ago(60) } }))).toEqual({
      ...expected,
      kind: 'wait',
      recheckAfterMs: 1500,
    });
    expect(decide(finalizing(missing))).toMatchObject({ ...expected, kind: 'blocked' });
  });

  it('writes down since when it is right', () => {
    const message = 'extension-apiserver-authentication holds the new CAs alone';

    expect(decide(finalizing(right))).toEqual({
      kind: 'act',
      effect: { kind: 'update-status' },
      reason: 'ResettingAuthentication',
      message,
      conditions: [{ type: 'AuthenticationReset', status: 'True', reason: 'ResettingAuthentication', message }],
    });
  });

  it('watches it for two minutes from then', () => {
    expect(decide(finalizing(right, { conditions: [aCondition('AuthenticationReset', 'True', 100)] }))).toEqual({
      kind: 'wait',
      reason: 'ResettingAuthentication',
      message: 'extension-apiserver-authentication holds the new CAs alone; watching it for 20 s more',
      recheckAfterMs: 5000,
    });
    expect(decide(finalizing(right, { conditions: [aCondition('AuthenticationReset', 'True', 120)] }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Done' },
    });
  });

  it('starts over when a late API server wrote the old CA back', () => {
    const conditions = [aCondition('AuthenticationReset', 'True', 100)];

    expect(decide(finalizing(holding([NEW[AGGREGATOR], OLD[AGGREGATOR]]), { conditions }))).toMatchObject({
      effect: { kind: 'update-status' },
      conditions: [{ type: 'AuthenticationReset', status: 'False' }],
    });
  });

  it('is not begun before every API server is proved to run on the new files', () => {
    const except = { cp3: { runs: 'Issuing' } } as const;

    expect(decide(finalizing(holding([OLD[AGGREGATOR], NEW[AGGREGATOR]]), { except }))).toMatchObject({
      kind: 'blocked',
      reason: 'ProvingMachine',
      message: 'cp3: the aggregation layer accepts d01dd01dd01d, dfdfdfdfdfdf; expected dfdfdfdfdfdf alone',
    });
  });

  it('leaves CAs in it that the owner accepts besides: resetting for them would never end', () => {
    const owners = print('eeee');
    const pki = { aggregatorAccepted: [NEW[AGGREGATOR], owners] };
    const conditions = [aCondition('AuthenticationReset', 'True', 120)];

    expect(decide(finalizing(holding([owners, NEW[AGGREGATOR]]), { pki, conditions }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Done' },
    });
  });

  it('names them beside the new CA where something else must go', () => {
    const owners = print('eeee');
    const pki = { aggregatorAccepted: [NEW[AGGREGATOR], owners] };

    expect(decide(finalizing(holding([OLD[AGGREGATOR], NEW[AGGREGATOR], owners]), { pki })).message).toBe(
      'requestheader-client-ca-file of extension-apiserver-authentication holds d01dd01dd01d, dfdfdfdfdfdf, eeeeeeeeeeee; expected dfdfdfdfdfdf, eeeeeeeeeeee; deleting it, so that the API servers write it anew',
    );
  });

  it('does not take one without any CA for a right one', () => {
    expect(decide(finalizing(holding([])))).toMatchObject({
      effect: { kind: 'reset-authentication' },
      message:
        'requestheader-client-ca-file of extension-apiserver-authentication holds nothing; expected dfdfdfdfdfdf alone; deleting it, so that the API servers write it anew',
    });
  });

  it('asks nothing of it for targets that are not published in it', () => {
    const conditions = [aCondition('AuthenticationReset', 'True', 120)];

    expect(decide(finalizing(right, { targets: ['talos', AGGREGATOR], conditions }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Done' },
    });
  });

  it('removes what an earlier rotation left in it', () => {
    expect(decide(finalizing(holding([print('eeee'), NEW[AGGREGATOR]])))).toMatchObject({
      effect: { kind: 'reset-authentication' },
    });
  });

  it('looks after the client CA where the Kubernetes CA is replaced', () => {
    const client = holding([OLD[AGGREGATOR]], [OLD.kubernetes, NEW.kubernetes]);

    expect(decide(finalizing(client, { targets: ['kubernetes'] }))).toMatchObject({
      effect: { kind: 'reset-authentication', uid: 'uid-authentication' },
      message:
        'client-ca-file of extension-apiserver-authentication holds b01db01db01d, bfbfbfbfbfbf; expected bfbfbfbfbfbf alone; deleting it, so that the API servers write it anew',
    });
  });

  it('is not asked for where neither is', () => {
    expect(decide(finalizing(reading({ present: false }), { targets: ['talos', 'etcd'] }))).toMatchObject({
      effect: { kind: 'enter-stage', stage: 'Done' },
    });
  });

  it('waits until it is read, and blocks where it cannot be', () => {
    expect(decide(without(finalizing({}), 'authentication'))).toMatchObject({
      kind: 'wait',
      reason: 'ResettingAuthentication',
      message: 'reading extension-apiserver-authentication',
    });
    expect(decide(finalizing({ authentication: { known: false, why: 'failed', message: '503' } }))).toMatchObject({
      kind: 'blocked',
      reason: 'KubernetesUnknown',
      message: 'extension-apiserver-authentication: 503',
    });
  });
});

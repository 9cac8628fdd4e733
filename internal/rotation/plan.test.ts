import { describe, expect, it } from 'vitest';
import type { CaTarget } from '../../api/v1alpha1/index.ts';
import { anObservation, type ObservationOptions } from '../../test/builders/rotation.ts';
import { NEW, OLD, print } from '../../test/builders/rotation-material.ts';
import { DEFAULT_SETTINGS } from './context.ts';
import { planOf } from './plan.ts';
import { settleText } from './plan-settles.ts';

const ALL = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const;

function plan(targets: readonly CaTarget[], options: ObservationOptions = {}) {
  return planOf(anObservation({ stage: 'Pending', targets, ...options }));
}

describe('the plan', () => {
  it('says what an evacuation hook is asked around each reboot, and where', () => {
    const { stages } = plan(['etcd'], { evacuationHook: '/opt/storage' });

    const around = ['/opt/storage evacuate NODE', 'cordon', 'drain', 'reboot', '/opt/storage readmit NODE', 'uncordon'];
    expect(stages.map(({ name, aroundReboot }) => [name, aroundReboot])).toEqual([
      ['Pending', undefined],
      ['Accepting', around],
      ['Issuing', around],
      ['Dropping', around],
      ['Finalizing', undefined],
    ]);
  });

  it('of etcd alone on three control planes and a worker, whole', () => {
    expect(plan(['etcd'])).toEqual({
      targets: [{ name: 'etcd', title: 'etcd CA' }],
      controlPlanes: ['cp1', 'cp2', 'cp3'],
      workers: ['w1'],
      stages: [
        {
          name: 'Pending',
          summary: 'check the cluster; make the new certificate authorities and store them',
          done: false,
          told: [],
          reboots: [],
          rebootsSkippable: false,
          waits: [],
          aboutMs: 0,
        },
        {
          name: 'Accepting',
          summary: 'every machine trusts the new CA; the old one issues',
          done: false,
          told: [['cp1'], ['cp2'], ['cp3']],
          reboots: ['cp1', 'cp2', 'cp3'],
          rebootsSkippable: false,
          waits: [],
          aboutMs: 189_000,
        },
        {
          name: 'Issuing',
          summary: 'the new CA issues; the old one is still trusted',
          done: false,
          told: [['cp1'], ['cp2'], ['cp3']],
          reboots: ['cp1', 'cp2', 'cp3'],
          rebootsSkippable: true,
          waits: [],
          aboutMs: 9_000,
        },
        {
          name: 'Dropping',
          summary: 'no machine trusts the old CA any more',
          done: false,
          told: [['cp1'], ['cp2'], ['cp3']],
          reboots: ['cp1', 'cp2', 'cp3'],
          rebootsSkippable: false,
          waits: [],
          aboutMs: 189_000,
        },
        {
          name: 'Finalizing',
          summary:
            'replace secrets.yaml; reset what Kubernetes still publishes; prove that old credentials are refused',
          done: false,
          told: [],
          reboots: [],
          rebootsSkippable: false,
          waits: [],
          aboutMs: 0,
        },
      ],
      reboots: { atLeast: 6, atMost: 9 },
      unavailable: [
        {
          what: 'one of 3 kube-apiservers and one member of etcd, while its machine reboots',
          times: 6,
          aboutMsEach: 40_000,
        },
      ],
      warnings: [
        'Take a snapshot of etcd before you start.',
        'Control planes are drained and rebooted one at a time; a PodDisruptionBudget that allows no disruption holds the rotation.',
      ],
      checks: {
        start: [
          'no other operation is under way on this cluster',
          'every machine answers, and the list of machines is complete',
          'no machine that discovery names is without a Node',
          'the number of control planes is odd',
          'every machine runs a Talos that can do it',
          'old and new certificate authorities pass every check',
          'every machine carries what secrets.yaml holds',
          'every configuration can be changed',
          'every machine runs the configuration that it keeps for its next boot',
          'etcd is whole: every member healthy, a leader, one voter for each control plane, no alarm',
          'every kube-apiserver is ready on its own machine',
          'every Node is Ready in the boot that its machine reports',
          'nobody else has cordoned another control plane',
          'the clock of every machine agrees with that of this host',
        ],
        change: [
          'every machine answers, and the list of machines is complete',
          'nobody else changed a configuration',
          'etcd is whole: every member healthy, a leader, one voter for each control plane, no alarm',
          'every kube-apiserver is ready on its own machine',
          'every Node is Ready in the boot that its machine reports',
        ],
        reboot: [
          'every machine answers, and the list of machines is complete',
          'nobody else changed a configuration',
          'etcd is whole: every member healthy, a leader, one voter for each control plane, no alarm',
          'every kube-apiserver is ready on its own machine',
          'every Node is Ready in the boot that its machine reports',
          'nobody else has cordoned another control plane',
          'the number of control planes is odd',
          "every control plane holds the stage's etcd certificates",
        ],
        stage: [
          'every machine answers, and the list of machines is complete',
          'nobody else changed a configuration',
          'etcd is whole: every member healthy, a leader, one voter for each control plane, no alarm',
          'every kube-apiserver is ready on its own machine',
          'every Node is Ready in the boot that its machine reports',
          'no machine that discovery names is without a Node',
          'every control plane pod is Ready',
        ],
      },
      pointOfNoReturn: {
        stage: 'Issuing',
        why: 'certificates of the new etcd CA are in use that cannot be taken back',
      },
      aboutMs: 387_000,
    });
  });

  it('tells control planes one at a time, then the canary, then the other workers five at a time', () => {
    const { stages } = plan(['talos'], { workers: 8 });

    expect(stages.find((stage) => stage.name === 'Issuing')?.told).toEqual([
      ['cp1'],
      ['cp2'],
      ['cp3'],
      ['w1'],
      ['w2', 'w3', 'w4', 'w5', 'w6'],
      ['w7', 'w8'],
    ]);
  });

  describe('in Dropping', () => {
    const dropping = (targets: readonly CaTarget[]) =>
      plan(targets, { workers: 2 }).stages.find(({ name }) => name === 'Dropping');

    it('tells workers of the Kubernetes CA before anybody else, and of the Talos CA at the end', () => {
      expect(dropping(['talos', 'kubernetes'])).toMatchObject({
        toldFirst: { titles: ['Kubernetes API CA'], machines: [['w1'], ['w2']] },
        told: [['cp1'], ['cp2'], ['cp3'], ['w1'], ['w2']],
      });
    });

    it('tells workers first where the Kubernetes CA is all that they hold', () => {
      expect(dropping(['kubernetes', 'etcd'])).toMatchObject({ told: [['w1'], ['w2'], ['cp1'], ['cp2'], ['cp3']] });
      expect(dropping(['kubernetes', 'etcd'])).not.toHaveProperty('toldFirst');
    });

    it('tells no worker first where there is none', () => {
      const { stages } = plan(['talos', 'kubernetes'], { workers: 0 });

      expect(stages.find(({ name }) => name === 'Dropping')).not.toHaveProperty('toldFirst');
      expect(stages.find(({ name }) => name === 'Dropping')?.told).toEqual([['cp1'], ['cp2'], ['cp3']]);
    });

    it('comes last to whoever signs for kubelets, where they are about to ask for a certificate', () => {
      const last = ({ stages }: ReturnType<typeof plan>) => stages.flatMap((stage) => [stage.last ?? []].flat());

      expect(last(plan(['etcd', 'kubernetes']))).toEqual(['the one whose kube-controller-manager leads']);
      expect(dropping(['etcd', 'kubernetes'])).toHaveProperty('last');
      expect(last(plan(['talos', 'etcd']))).toEqual([]);
      expect(last(plan(['kubernetes'], { controlPlanes: 0, workers: 0 }))).toEqual([]);
    });

    it('tells control planes first where the Kubernetes CA stays', () => {
      expect(dropping(['talos'])).toMatchObject({ told: [['cp1'], ['cp2'], ['cp3'], ['w1'], ['w2']] });
    });
  });

  it.each([
    [['talos'], { atLeast: 0, atMost: 0 }],
    [['kubernetes', 'kubernetes-aggregator'], { atLeast: 0, atMost: 0 }],
    [['etcd'], { atLeast: 6, atMost: 9 }],
    [ALL, { atLeast: 6, atMost: 9 }],
  ] as const)('of %j reboots %j', (targets, reboots) => {
    expect(plan(targets).reboots).toEqual(reboots);
  });

  it.each([
    [['talos', 'kubernetes'], true],
    [['etcd', 'kubernetes-aggregator'], false],
  ] as const)('of %j has a hand-off: %s', (targets, expected) => {
    expect(plan(targets).stages.some((stage) => stage.name === 'AwaitingCredentials')).toBe(expected);
  });

  it('gives no time for a stage that depends on a person', () => {
    const handOff = plan(['talos']).stages.find((stage) => stage.name === 'AwaitingCredentials');

    expect(handOff?.summary).toBe('the operator takes the new talosconfig and kubeconfig');
    expect(handOff).not.toHaveProperty('aboutMs');
  });

  it('names what settles, with the settings of the caller', () => {
    const settings = { ...DEFAULT_SETTINGS, aggregatorSettleMs: 5_000, authenticationWatchMs: 10_000 };
    const { stages } = planOf(anObservation({ stage: 'Pending', targets: ALL }), settings);

    expect(stages.flatMap((stage) => stage.waits.map((wait) => `${stage.name}: ${wait}`))).toEqual([
      'Accepting: extension-apiserver-authentication holds the new aggregator CA, and extension API servers had 5 s to read it',
      'Issuing: the Secrets of talos.dev ServiceAccounts hold certificates of the new Talos CA',
      'Issuing: kube-root-ca.crt is the new CA in every namespace',
      'Issuing: workloads that started with the old root CA are restarted, if that was asked for',
      'Finalizing: extension-apiserver-authentication holds the new CAs alone, and still does after 10 s',
    ]);
  });

  it('adds up what control planes, workers, reboots and waits take', () => {
    const about = (targets: readonly CaTarget[]) =>
      plan(targets, { workers: 7 }).stages.map(({ name, aboutMs }) => [name, aboutMs]);

    // Three control planes of 23 s; the canary, five and one more workers of 5 s.
    expect(about(['talos', 'kubernetes'])).toEqual([
      ['Pending', 0],
      ['Accepting', 84_000],
      ['AwaitingCredentials', undefined],
      ['Issuing', 84_000 + 20_000],
      // Workers are told twice here: of the Kubernetes CA before the control planes, of the Talos CA after them.
      ['Dropping', 99_000],
      ['Finalizing', 120_000],
    ]);
    expect(about(['talos'])).toContainEqual(['Accepting', 24_000]);
  });

  it('takes measured times where there are some', () => {
    const observation = anObservation({ stage: 'Pending', targets: ['etcd'] });
    const measured = { rebootMs: 20_000, apiServerAwayMs: 12_000, applyMs: 1_000 };

    expect(planOf(observation, DEFAULT_SETTINGS, measured)).toMatchObject({
      aboutMs: 129_000,
      unavailable: [{ times: 6, aboutMsEach: 12_000 }],
    });
    // The API is away for two thirds of a reboot, as on real machines.
    expect(planOf(observation, DEFAULT_SETTINGS, { rebootMs: 90_000 }).unavailable).toMatchObject([
      { aboutMsEach: 60_000 },
    ]);
  });

  it('says what is in the way of the start', () => {
    expect(plan(['talos'], { controlPlanes: 2 }).blocker).toEqual({
      reason: 'ClusterTransitioning',
      message: 'there are 2 control planes; expected an odd number',
    });
  });

  it('has no blocker where nothing is in the way, and no checks of reboots where there are none', () => {
    const { checks, ...rest } = plan(['talos']);

    expect(rest).not.toHaveProperty('blocker');
    expect(checks.reboot).toEqual([]);
  });

  it('says which stages an operation has left', () => {
    const { stages, blocker } = planOf(anObservation({ stage: 'Issuing', targets: ['etcd'] }));

    expect(stages.filter((stage) => stage.done).map((stage) => stage.name)).toEqual(['Pending', 'Accepting']);
    expect(blocker).toBeUndefined();
  });

  it('has nothing in the way of a start that is over', () => {
    const except = { w1: { unknown: 'unreachable' } } as const;

    expect(planOf(anObservation({ stage: 'Issuing', targets: ['talos'], except }))).not.toHaveProperty('blocker');
  });

  it.each([
    [['talos'], 'Dropping', 'machines have stopped accepting the old certificate authorities'],
    [['kubernetes-aggregator'], 'Dropping', 'machines have stopped accepting the old certificate authorities'],
    [['talos', 'kubernetes'], 'Issuing', 'certificates of the new kubernetes CA are in use that cannot be taken back'],
  ] as const)('of %j has its point of no return at %s', (targets, stage, why) => {
    expect(plan(targets).pointOfNoReturn).toEqual({ stage, why });
  });

  it('is data that survives being written and read', () => {
    const whole = plan(ALL, { workers: 3 });

    expect(JSON.parse(JSON.stringify(whole))).toEqual(whole);
  });
});

describe('what will not answer', () => {
  it('is one kube-apiserver at a time, once a pass and once a reboot', () => {
    expect(plan(['kubernetes', 'etcd']).unavailable).toEqual([
      { what: 'one of 3 kube-apiservers, while it restarts', times: 9, aboutMsEach: 5_000 },
      {
        what: 'one of 3 kube-apiservers and one member of etcd, while its machine reboots',
        times: 6,
        aboutMsEach: 40_000,
      },
    ]);
  });

  it('is longer where the kubelet goes on, which ends a static pod before it starts the next', () => {
    expect(plan(['kubernetes-aggregator']).unavailable).toEqual([
      { what: 'one of 3 kube-apiservers, while it restarts', times: 9, aboutMsEach: 45_000 },
    ]);
    expect(plan(['kubernetes', 'kubernetes-aggregator']).unavailable).toEqual([
      { what: 'one of 3 kube-apiservers, while it restarts', times: 9, aboutMsEach: 5_000 },
    ]);
  });

  it('is the whole API with a single control plane', () => {
    expect(plan(['kubernetes', 'etcd'], { controlPlanes: 1, workers: 0 }).unavailable).toEqual([
      { what: 'the Kubernetes API, while it restarts', times: 3, aboutMsEach: 5_000 },
      { what: 'the Kubernetes API and etcd, while the only control plane reboots', times: 2, aboutMsEach: 40_000 },
    ]);
  });

  it('is nothing for the Talos CA, which is swapped in place', () => {
    expect(plan(['talos']).unavailable).toEqual([]);
  });
});

describe('the warnings', () => {
  const cutOff =
    'A machine without a Node (machine.kubelet.skipNodeRegistration) is told of no stage, and cut off in Dropping.';

  it('say that nobody can tell of machines without a Node where discovery names too few', () => {
    const unlisted = {
      known: false,
      why: 'failed',
      message: 'discovery names 1 of the 4 machines in the list',
    } as const;

    expect(plan(['talos'], { unlisted }).warnings[0]).toBe(
      `Nobody can say whether there are machines without a Node: discovery names 1 of the 4 machines in the list. ${cutOff}`,
    );
    expect(plan(['etcd'], { unlisted }).warnings[0]).toBe('Take a snapshot of etcd before you start.');
  });

  it('name who has no Node and does not answer: gone, or switched off', () => {
    const unlisted = {
      known: true,
      value: [
        { name: 'w8', address: '10.0.0.8', answers: true },
        { name: 'w9', address: '10.0.0.9, fd00::9', answers: false },
      ],
    } as const;

    expect(plan(['talos'], { unlisted }).warnings[0]).toBe(
      `Discovery names machines that have no Node and do not answer: w9 (10.0.0.9, fd00::9). Be sure that they are gone. ${cutOff}`,
    );
  });

  it('say first what a single control plane costs', () => {
    const alone = { controlPlanes: 1, workers: 0 };

    expect(plan(['etcd'], alone).warnings[0]).toBe(
      'cp1 is the only control plane: the Kubernetes API is away while it reboots, and its drain evicts what runs on it.',
    );
    expect(plan(['kubernetes'], alone).warnings[0]).toBe(
      'cp1 is the only control plane: the Kubernetes API is away while its kube-apiserver restarts.',
    );
    expect(plan(['talos'], alone).warnings.map((warning) => warning.split(' ').slice(0, 2).join(' '))).toEqual([
      'Every talosconfig',
      'The Secrets',
    ]);
  });

  it('are said of a cluster whose control planes were not found, too', () => {
    expect(plan(['etcd'], { controlPlanes: 0 }).warnings[0]).toBe('Take a snapshot of etcd before you start.');
  });

  it('name what each target costs its users', () => {
    const all = plan(ALL).warnings.join('\n');

    expect(all).toContain('Take a snapshot of etcd before you start.');
    expect(all).toContain('Pods that read the root CA once');
    expect(all).toContain('Extension API servers that read extension-apiserver-authentication once');
    expect(all).toContain('The Secrets of talos.dev ServiceAccounts hold one CA');
  });

  it('name CAs of the owner that stay accepted', () => {
    const pki = { talosAccepted: [OLD.talos, print('eeee')] };

    expect(plan(['talos'], { pki }).warnings.at(-1)).toBe(
      'Besides the Talos API CA, machines accept eeeeeeeeeeee: what is accepted there stays accepted.',
    );
  });

  it('name all of them, whoever of the control planes answers', () => {
    const pki = { talosAccepted: [OLD.talos, print('eeee'), print('dddd')] };

    expect(plan(['talos'], { pki, except: { cp1: { unknown: 'unreachable' } } }).warnings.at(-1)).toBe(
      'Besides the Talos API CA, machines accept eeeeeeeeeeee, dddddddddddd: what is accepted there stays accepted.',
    );
  });

  it('do not take the new CA for one of the owner once the rotation is on', () => {
    const pki = { talosAccepted: [OLD.talos, NEW.talos] };

    expect(planOf(anObservation({ stage: 'Accepting', targets: ['talos'], pki })).warnings.join()).not.toContain(
      'Besides',
    );
  });
});

describe('the words for what settles', () => {
  it('are there for every step that a target names; another one is a fault in Ichor', () => {
    const unnamed = () => undefined;

    expect(() => settleText(unnamed, DEFAULT_SETTINGS)).toThrow('the settle unnamed has no text');
  });
});

import { describe, expect, it } from 'vitest';
import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { MachineOptions, Stands } from '../../test/builders/machine.ts';
import { ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { NEW } from '../../test/builders/rotation-material.ts';
import { isBehind } from './behind.ts';
import { contextOf, decide } from './decide.ts';
import { pass } from './pass.ts';

const STEPS = [
  ['Accepting', 'Before'],
  ['Issuing', 'Accepting'],
  ['Dropping', 'Issuing'],
] as const;

/** What a kubelet accepts that was told to drop the old CA. */
const DROPPED = { kubeletAccepted: [NEW.kubernetes] };

/** A pass at its start: every machine stands where the stage before left it. */
function atStart(stage: 'Accepting' | 'Issuing' | 'Dropping', options: ObservationOptions = {}) {
  const [, stands] = STEPS.find(([name]) => name === stage) ?? STEPS[0];
  return anObservation({ stage, stands, status: { applied: [] }, ...options });
}

/** Machines that have the stage's configuration already. */
function done(stands: Stands, ...names: string[]): Record<string, MachineOptions> {
  return Object.fromEntries(names.map((name) => [name, { stands }]));
}

describe('a pass', () => {
  it.each(STEPS)('in %s tells the first control plane, with its boot and its kube-apiserver on record', (stage) => {
    expect(decide(atStart(stage, { workers: 0 }))).toEqual({
      kind: 'act',
      effect: { kind: 'apply-config', machine: 'cp1', stage },
      reason: 'ApplyingConfiguration',
      message: `cp1: applying the configuration of ${stage}`,
      mark: {
        applied: [
          {
            machine: 'cp1',
            stage,
            bootID: 'boot-1',
            apiServerInstance: 'container-1',
            appliedAt: '2026-11-05T12:00:00.000Z',
          },
        ],
        etcdRestarted: [],
      },
    });
  });

  describe('has the start of a kubelet on record', () => {
    const talos = { kubelet: { running: true, healthy: true, startedAt: Date.UTC(2026, 10, 5, 11) } };
    const marked = (options: ObservationOptions) => {
      const decision = decide(atStart('Dropping', { workers: 1, talos, ...options }));
      return decision.kind === 'act' ? decision.mark?.applied?.at(-1) : decision;
    };

    it('where it restarts for what the machine is told', () => {
      expect(marked({})).toMatchObject({ machine: 'w1', kubeletStartedAt: '2026-11-05T11:00:00.000Z' });
    });

    it('and not where it has restarted for it already, or does not for this target', () => {
      const told = { standing: { kubernetes: { stage: 'Dropping' } }, pki: DROPPED } as const;
      const planes = done('Dropping', 'cp1', 'cp2', 'cp3');

      expect(marked({ except: { w1: told, ...planes } })).toMatchObject({ machine: 'w1', stage: 'Dropping' });
      expect(marked({ except: { w1: told, ...planes } })).not.toHaveProperty('kubeletStartedAt');
      expect(marked({ targets: ['talos', 'etcd'] })).not.toHaveProperty('kubeletStartedAt');
    });
  });

  describe('in Dropping, where API servers are about to refuse kubelets that were not told', () => {
    const ahead = { standing: { kubernetes: { stage: 'Dropping' } }, pki: DROPPED } as const;

    it('tells the canary of the Kubernetes CA alone before any control plane', () => {
      expect(decide(atStart('Dropping', { workers: 3 }))).toMatchObject({
        effect: { kind: 'apply-config', machine: 'w1', stage: 'Dropping', targets: ['kubernetes'] },
        message: 'w1: applying the configuration of Dropping for the Kubernetes API CA alone',
      });
    });

    it('waits until the Node of the canary is Ready again', () => {
      const w1 = { ...ahead, node: { ready: false } };

      expect(decide(atStart('Dropping', { workers: 3, except: { w1 } }))).toMatchObject({ reason: 'NodeNotReady' });
    });

    it('then tells the other workers of it', () => {
      expect(decide(atStart('Dropping', { workers: 3, except: { w1: ahead } }))).toMatchObject({
        effect: { kind: 'apply-configs', machines: ['w2', 'w3'], stage: 'Dropping', targets: ['kubernetes'] },
      });
    });

    it('tells no control plane before the kubelet of every worker runs on the new CA alone', () => {
      const w2 = { ...ahead, pki: {} };

      expect(decide(atStart('Dropping', { workers: 2, except: { w1: ahead, w2 } }))).toMatchObject({
        reason: 'ProvingMachine',
        message: 'w2: the kubelet accepts b01db01db01d, bfbfbfbfbfbf; expected bfbfbfbfbfbf alone',
      });
    });

    it('then tells control planes everything, and workers the rest at the end', () => {
      const workers = { w1: ahead, w2: ahead };

      expect(decide(atStart('Dropping', { workers: 2, except: workers }))).toMatchObject({
        effect: { kind: 'apply-config', machine: 'cp1', stage: 'Dropping' },
        message: 'cp1: applying the configuration of Dropping',
      });
      expect(
        decide(atStart('Dropping', { workers: 2, except: { ...workers, ...done('Dropping', 'cp1', 'cp2', 'cp3') } })),
      ).toMatchObject({ effect: { kind: 'apply-config', machine: 'w1', stage: 'Dropping' } });
    });

    it('tells the control plane last whose kube-controller-manager signs for kubelets', () => {
      const kubernetes = { controllerManager: { known: true, value: 'cp1' } } as const;
      const at = (...told: string[]) =>
        decide(atStart('Dropping', { workers: 0, kubernetes, except: done('Dropping', ...told) }));

      expect(at()).toMatchObject({ effect: { machine: 'cp2' } });
      expect(at('cp2')).toMatchObject({ effect: { machine: 'cp3' } });
      expect(at('cp2', 'cp3')).toMatchObject({ effect: { machine: 'cp1' } });
    });

    it('goes by name where nobody is known to lead', () => {
      const unknown = { known: false, why: 'failed', message: 'timeout' } as const;
      for (const controllerManager of [unknown, { known: true, value: undefined } as const]) {
        const observation = atStart('Dropping', { workers: 0, kubernetes: { controllerManager } });
        expect(decide(observation)).toMatchObject({ effect: { machine: 'cp1' } });
      }
    });

    it('tells workers everything at once where the Kubernetes CA is all that they hold', () => {
      const decision = decide(atStart('Dropping', { targets: ['kubernetes', 'etcd'] }));

      expect(decision).toMatchObject({ message: 'w1: applying the configuration of Dropping' });
      expect(decision.kind === 'act' && decision.effect).not.toHaveProperty('targets');
    });

    it('tells control planes first where the Kubernetes CA stays', () => {
      expect(decide(atStart('Dropping', { targets: ['talos'] }))).toMatchObject({ effect: { machine: 'cp1' } });
    });

    it('tells a worker that came back with an old disk alone, before the others go on', () => {
      const w2 = { stands: 'Accepting', node: { ready: false } } as const;
      const planes = done('Dropping', 'cp1', 'cp2', 'cp3');

      expect(decide(atStart('Dropping', { workers: 3, except: { ...planes, w1: ahead, w2 } }))).toMatchObject({
        effect: { kind: 'apply-config', machine: 'w2', targets: ['kubernetes'] },
      });
    });
  });

  it('replaces the record of an earlier stage and takes the machine off the list of rebooted ones', () => {
    const status = {
      applied: [wasTold('cp1', 'Accepting'), wasTold('cp2', 'Accepting')],
      etcdRestarted: ['cp1', 'cp2'],
    };

    expect(decide(atStart('Issuing', { status }))).toMatchObject({
      mark: {
        applied: [
          { machine: 'cp2', stage: 'Accepting' },
          { machine: 'cp1', stage: 'Issuing', bootID: 'boot-1', apiServerInstance: 'container-1' },
        ],
        etcdRestarted: ['cp2'],
      },
    });
  });

  it('asks for another kube-apiserver only where the control plane is behind in something that restarts it', () => {
    const behindIn = (target: CaTarget) =>
      decide(
        anObservation({
          stage: 'Accepting',
          targets: ['talos', 'kubernetes'],
          except: { cp1: { standing: { [target]: { stage: 'Before' } } } },
        }),
      );
    const told = { effect: { kind: 'apply-config', machine: 'cp1' } };
    const before = { apiServerInstance: 'container-1' };

    expect(behindIn('kubernetes')).toMatchObject({
      ...told,
      mark: { applied: expect.arrayContaining([expect.objectContaining({ machine: 'cp1', ...before })]) },
    });
    expect(behindIn('talos')).toMatchObject({
      ...told,
      mark: { applied: expect.not.arrayContaining([expect.objectContaining({ machine: 'cp1', ...before })]) },
    });
  });

  it('goes on to the second control plane once the first is proved', () => {
    const except = done('Accepting', 'cp1');

    expect(decide(atStart('Accepting', { except, status: { applied: [wasTold('cp1', 'Accepting')] } }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'cp2', stage: 'Accepting' },
    });
  });

  it('proves who was told before it tells one further up the list, which went back meanwhile', () => {
    const except = { ...done('Accepting', 'cp3'), cp2: { stands: 'Accepting', runs: 'Before' } } as const;

    expect(decide(atStart('Accepting', { except }))).toMatchObject({ reason: 'ProvingMachine' });
  });

  it('tells one worker first, as canary', () => {
    const except = done('Accepting', 'cp1', 'cp2', 'cp3');

    expect(decide(atStart('Accepting', { workers: 4, except }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'w1', stage: 'Accepting' },
      message: 'w1: applying the configuration of Accepting',
    });
  });

  it('waits for the canary before it tells another worker', () => {
    const except = { ...done('Accepting', 'cp1', 'cp2', 'cp3'), w1: { stands: 'Accepting', runs: 'Before' } as const };
    const applied = [wasTold('w1', 'Accepting', { appliedAt: ago(5) })];

    expect(decide(atStart('Accepting', { workers: 4, except, status: { applied } }))).toEqual({
      kind: 'wait',
      reason: 'ProvingMachine',
      message: 'w1: apid accepts a01da01da01d; expected a01da01da01d and afafafafafaf',
      recheckAfterMs: 500,
      watch: ['w1'],
    });
  });

  it('then tells five at a time, each with its own record', () => {
    const except = done('Accepting', 'cp1', 'cp2', 'cp3', 'w1');
    const decision = decide(atStart('Accepting', { workers: 8, except }));

    expect(decision).toMatchObject({
      effect: { kind: 'apply-configs', machines: ['w2', 'w3', 'w4', 'w5', 'w6'], stage: 'Accepting' },
      message: 'w2, w3, w4, w5, w6: applying the configuration of Accepting',
    });
    expect(decision.kind === 'act' && decision.mark?.applied?.map((each) => each.machine)).toEqual([
      'w2',
      'w3',
      'w4',
      'w5',
      'w6',
    ]);
  });

  it('tells the last batch that is left', () => {
    const except = done('Accepting', 'cp1', 'cp2', 'cp3', 'w1', 'w2');

    expect(decide(atStart('Accepting', { workers: 4, except }))).toMatchObject({
      effect: { kind: 'apply-configs', machines: ['w3', 'w4'] },
    });
  });

  it('tells no worker before every control plane is proved', () => {
    const except = {
      ...done('Accepting', 'cp1', 'cp2'),
      cp3: { stands: 'Accepting', apiServer: 'failing: etcd' } as const,
    };
    const applied = [wasTold('cp3', 'Accepting', { appliedAt: ago(10) })];

    expect(decide(atStart('Accepting', { except, status: { applied } }))).toMatchObject({
      kind: 'wait',
      reason: 'ProvingMachine',
      message: 'cp3: its kube-apiserver does not answer /readyz: failing: etcd',
    });
  });

  it('takes up a machine that joined while the stage was on', () => {
    const except = { cp2: { stands: 'Before' } as const };

    expect(decide(anObservation({ except }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'cp2', stage: 'Accepting' },
    });
  });

  it('is over for a stage when every machine stands at it and is proved', () => {
    expect(pass(contextOf(anObservation()))).toBeUndefined();
  });

  it('tells workers nothing where only control planes are concerned', () => {
    const observation = atStart('Accepting', { targets: ['etcd'], except: done('Accepting', 'cp1', 'cp2', 'cp3') });

    expect(pass(contextOf(observation))).toBeUndefined();
  });
});

describe('the gates of a pass', () => {
  const inTheWay: [string, ObservationOptions, string, string][] = [
    [
      'a machine that does not answer',
      { except: { w1: { unknown: 'unreachable' } } },
      'MachineUnknown',
      'w1 (10.0.0.1): connection refused',
    ],
    [
      'a list of machines that is not complete',
      { machinesIncomplete: 'no API server listed the Nodes' },
      'MachineListIncomplete',
      'no API server listed the Nodes',
    ],
    [
      'a foreign edit',
      { except: { cp3: { standing: { talos: { stage: 'Foreign', why: 'it accepts eeeeeeeeeeee' } } } } },
      'ForeignConfiguration',
      'cp3, talos: it accepts eeeeeeeeeeee',
    ],
    [
      'an etcd member that is not healthy',
      { except: { cp3: { talos: { etcdService: { running: true, healthy: false } } } } },
      'EtcdNotWhole',
      'etcd on cp3 is running but not healthy; expected healthy',
    ],
    [
      'an alarm of etcd',
      { except: { cp2: { etcd: { alarms: ['CORRUPT'] } } } },
      'EtcdAlarm',
      'etcd on cp2 reports CORRUPT; expected no alarm',
    ],
    [
      'a kube-apiserver that is not ready',
      { except: { cp3: { apiServer: 'failing: etcd' } } },
      'ApiServerNotReady',
      'kube-apiserver on cp3: failing: etcd; expected /readyz to answer ok',
    ],
    [
      'a Node that is not Ready',
      { except: { w1: { node: { ready: false, readyMessage: 'kubelet stopped posting' } } } },
      'NodeNotReady',
      'Node w1: kubelet stopped posting; expected Ready',
    ],
  ];

  it.each(inTheWay)('%s blocks it', (_what, options, reason, message) => {
    expect(decide(atStart('Accepting', options))).toEqual({ kind: 'blocked', reason, message, recheckAfterMs: 30_000 });
  });

  it('an etcd member that is not healthy blocks the workers as well', () => {
    const sick = { talos: { etcdService: { running: true, healthy: false } } };
    const except = { ...done('Accepting', 'cp1', 'cp2'), cp3: { stands: 'Accepting', ...sick } as const };

    expect(decide(atStart('Accepting', { except }))).toEqual({
      kind: 'blocked',
      reason: 'EtcdNotWhole',
      message: 'etcd on cp3 is running but not healthy; expected healthy',
      recheckAfterMs: 30_000,
    });
  });
});

describe('the kube-apiserver of before', () => {
  it.each([
    ['2 kube-apiservers run beside one another', ['ending', 'running']],
    ['no kube-apiserver runs', []],
  ])('must be the only one: while %s, the machine is not told', (found, instance) => {
    expect(decide(atStart('Accepting', { except: { cp1: { instance } } }))).toMatchObject({
      reason: 'ApiServerNotReady',
      message: `cp1: ${found}; expected one before it is told`,
    });
  });

  it.each([['talos'], ['etcd']] as const)('does not matter to the %s CA, for which none restarts', (target) => {
    const except = { cp1: { instance: ['ending', 'running'] } };

    expect(decide(atStart('Accepting', { targets: [target], except }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'cp1' },
    });
  });

  it('does not matter on workers', () => {
    const planes = done('Accepting', 'cp1', 'cp2', 'cp3');

    expect(decide(atStart('Accepting', { except: { ...planes, w1: { instance: undefined } } }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'w1' },
    });
  });

  it('need not run on a machine that was left behind: it may not be able to start before it is told', () => {
    const except = { ...done('Issuing', 'cp1', 'cp3'), cp2: { stands: 'Before', instance: [] } } as const;

    expect(decide(atStart('Issuing', { stands: 'Issuing', except }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'cp2' },
    });
  });

  it('must be the only one on a machine that was left behind, too', () => {
    const except = { ...done('Issuing', 'cp1', 'cp3'), cp2: { stands: 'Before', instance: ['a', 'b'] } } as const;

    expect(decide(atStart('Issuing', { stands: 'Issuing', except }))).toMatchObject({
      reason: 'ApiServerNotReady',
      message: 'cp2: 2 kube-apiservers run beside one another; expected one before it is told',
    });
  });
});

describe('a machine that was left two stages behind, as one whose disk was restored', () => {
  const notReady = { node: { ready: false, readyMessage: 'kubelet stopped posting' } };

  it('is told although its Node is not Ready, which it cannot become before', () => {
    const except = { w1: { stands: 'Before', ...notReady } as const };

    expect(decide(anObservation({ stage: 'Issuing', except }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'w1', stage: 'Issuing' },
    });
  });

  it('is told although its etcd and its kube-apiserver are not well, while those of the others are', () => {
    const sick = { talos: { etcdService: { running: true, healthy: false } }, apiServer: 'failing: etcd', ...notReady };
    const except = { cp3: { stands: 'Accepting', ...sick } as const };

    expect(decide(anObservation({ stage: 'Dropping', targets: ['etcd'], except }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'cp3', stage: 'Dropping' },
    });
  });

  it('is remembered as one: its etcd has started with what the others do not take', () => {
    const applied = (cp3: MachineOptions) => {
      const decision = decide(anObservation({ stage: 'Issuing', targets: ['etcd'], except: { cp3 } }));
      return decision.kind === 'act' ? decision.mark?.applied?.find(({ machine }) => machine === 'cp3') : undefined;
    };

    expect(applied({ stands: 'Before' })).toMatchObject({ leftBehind: true });
    expect(applied({ stands: 'Accepting' })).not.toHaveProperty('leftBehind');
  });

  it('is told before other control planes, which cannot be told while it is not well', () => {
    const etcdService = { running: true, healthy: false };
    const cp3 = { stands: 'Before', talos: { etcdService }, apiServer: 'failing: etcd' } as const;

    expect(decide(atStart('Dropping', { workers: 0, except: { cp3 } }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'cp3', stage: 'Dropping' },
    });
  });

  it('is told before other workers, alone', () => {
    const except = { w1: { stands: 'Accepting' }, w2: { stands: 'Before', ...notReady } } as const;

    expect(decide(anObservation({ stage: 'Issuing', workers: 3, except }))).toMatchObject({
      effect: { kind: 'apply-config', machine: 'w2' },
    });
  });

  it.each<[string, Record<string, MachineOptions>, string]>([
    ['another Node is not Ready', { w2: notReady }, 'Node w2: kubelet stopped posting; expected Ready'],
    [
      'another member of etcd is not healthy',
      { cp2: { talos: { etcdService: { running: true, healthy: false } } } },
      'etcd on cp2 is running but not healthy; expected healthy',
    ],
    ['a machine does not answer', { w2: { unknown: 'unreachable' } }, 'w2 (10.0.0.2): connection refused'],
  ])('is not told while %s', (_what, others, message) => {
    const except = { ...others, w1: { stands: 'Before', ...notReady } as const };

    expect(decide(anObservation({ stage: 'Issuing', targets: ['talos', 'etcd'], workers: 2, except }))).toMatchObject({
      kind: 'blocked',
      message,
    });
  });

  it('one stage behind it is held by its own gates, as everybody is', () => {
    const except = { w1: { stands: 'Accepting', ...notReady } as const };

    expect(decide(anObservation({ stage: 'Issuing', except }))).toMatchObject({
      kind: 'blocked',
      reason: 'NodeNotReady',
    });
  });
});

describe('isBehind', () => {
  function behind(stage: 'Accepting' | 'Issuing' | 'Dropping', targets: readonly CaTarget[], options: MachineOptions) {
    const context = contextOf(
      anObservation({ stage, targets, controlPlanes: 1, workers: 0, except: { cp1: options } }),
    );
    const [machine] = context.observation.machines;
    if (machine?.talos.known !== true) throw new Error('cp1 is known');
    return isBehind(context, { ...machine, talos: machine.talos });
  }

  it.each([
    ['Before', [true, true, true]],
    ['Accepting', [false, true, true]],
    ['Issuing', [false, false, true]],
    ['Dropping', [false, false, false]],
  ] as const)('a machine at %s is behind Accepting, Issuing, Dropping: %j', (stands, expected) => {
    expect(
      (['Accepting', 'Issuing', 'Dropping'] as const).map((stage) => behind(stage, ['talos'], { stands })),
    ).toEqual(expected);
  });

  it('one target that lags is enough', () => {
    expect(behind('Issuing', ['talos', 'etcd'], { standing: { etcd: { stage: 'Accepting' } } })).toBe(true);
  });

  it('a target that is not rotated does not count', () => {
    expect(behind('Issuing', ['talos'], { standing: { etcd: { stage: 'Before' } } })).toBe(false);
  });
});

describe('a machine that moves on', () => {
  it('is told once: with the stage applied nothing is sent to it again', () => {
    const except = { cp1: { stands: 'Accepting', instance: 'container-2' } } as const;
    const status = { applied: [wasTold('cp1', 'Accepting', { bootID: 'boot-1', apiServerInstance: 'container-1' })] };

    expect(decide(atStart('Accepting', { except, status }))).toMatchObject({ effect: { machine: 'cp2' } });
  });
});

import { describe, expect, it } from 'vitest';
import type { CaTarget } from '../../api/v1alpha1/index.ts';
import type { MachineOptions, Stands } from '../../test/builders/machine.ts';
import { ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { material, print } from '../../test/builders/rotation-material.ts';
import { isKnown } from './context.ts';
import { contextOf, decide } from './decide.ts';
import { foundInstead, unproved } from './proof.ts';
import { TARGETS } from './targets/index.ts';

type Stage = 'Accepting' | 'Issuing' | 'Dropping';

/** What is not proved of the named machine. */
function ask(name: string, options: ObservationOptions) {
  const context = contextOf(anObservation(options));
  const machine = context.observation.machines.find((each) => each.name === name);
  if (machine?.talos.known !== true) throw new Error(`${name} is known`);
  return unproved(context, { ...machine, talos: machine.talos });
}

const BEFORE: Readonly<Record<Stage, Stands>> = { Accepting: 'Before', Issuing: 'Accepting', Dropping: 'Issuing' };

describe('a machine that runs with what the stage before left', () => {
  const found: [CaTarget, Stage, 'cp1' | 'w1', string][] = [
    ['talos', 'Accepting', 'cp1', 'apid accepts a01da01da01d; expected a01da01da01d and afafafafafaf'],
    ['talos', 'Accepting', 'w1', 'apid accepts a01da01da01d; expected a01da01da01d and afafafafafaf'],
    ['talos', 'Issuing', 'cp1', 'the Talos API is issued by a01da01da01d; expected afafafafafaf'],
    ['talos', 'Issuing', 'w1', "apid's certificate is issued by a01da01da01d; expected afafafafafaf"],
    ['talos', 'Dropping', 'cp1', 'apid accepts a01da01da01d, afafafafafaf; expected afafafafafaf alone'],
    ['talos', 'Dropping', 'w1', 'apid accepts a01da01da01d, afafafafafaf; expected afafafafafaf alone'],
    ['kubernetes', 'Accepting', 'cp1', 'kube-apiserver accepts b01db01db01d; expected b01db01db01d and bfbfbfbfbfbf'],
    ['kubernetes', 'Accepting', 'w1', 'the kubelet accepts b01db01db01d; expected b01db01db01d and bfbfbfbfbfbf'],
    ['kubernetes', 'Issuing', 'cp1', 'the Kubernetes API is issued by b01db01db01d; expected bfbfbfbfbfbf'],
    ['kubernetes', 'Dropping', 'cp1', 'kube-apiserver accepts b01db01db01d, bfbfbfbfbfbf; expected bfbfbfbfbfbf alone'],
    ['kubernetes', 'Dropping', 'w1', 'the kubelet accepts b01db01db01d, bfbfbfbfbfbf; expected bfbfbfbfbfbf alone'],
    [
      'etcd',
      'Accepting',
      'cp1',
      "etcd's trust file holds c01dc01dc01d; expected c01dc01dc01d, cfcfcfcfcfcf in this order",
    ],
    [
      'etcd',
      'Issuing',
      'cp1',
      "etcd's trust file holds c01dc01dc01d, cfcfcfcfcfcf; expected cfcfcfcfcfcf, c01dc01dc01d in this order",
    ],
    [
      'etcd',
      'Dropping',
      'cp1',
      "etcd's trust file holds cfcfcfcfcfcf, c01dc01dc01d; expected cfcfcfcfcfcf in this order",
    ],
    [
      'kubernetes-aggregator',
      'Accepting',
      'cp1',
      'the aggregation layer accepts d01dd01dd01d; expected d01dd01dd01d and dfdfdfdfdfdf',
    ],
    [
      'kubernetes-aggregator',
      'Issuing',
      'cp1',
      'the aggregation layer is issued by d01dd01dd01d; expected dfdfdfdfdfdf',
    ],
    [
      'kubernetes-aggregator',
      'Dropping',
      'cp1',
      'the aggregation layer accepts d01dd01dd01d, dfdfdfdfdfdf; expected dfdfdfdfdfdf alone',
    ],
  ];

  it.each(found)('%s, %s, %s: says what was found and what was expected', (target, stage, name, message) => {
    const except: Record<string, MachineOptions> = { [name]: { runs: BEFORE[stage] } };

    expect(ask(name, { stage, targets: [target], except })).toEqual({
      reason: 'ProvingMachine',
      message: `${name}: ${message}`,
      machines: [name],
    });
  });
});

describe('a machine that runs with the stage', () => {
  const all = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const;

  it.each(['Accepting', 'AwaitingCredentials', 'Issuing', 'Dropping', 'Finalizing'] as const)(
    'is proved in %s',
    (stage) => {
      expect(ask('cp1', { stage, targets: all })).toBeUndefined();
      expect(ask('w1', { stage, targets: all })).toBeUndefined();
    },
  );

  it.each([
    ['Accepting', [print('a01d')], 'a01da01da01d; expected a01da01da01d and afafafafafaf'],
    ['Issuing', [print('a01d')], 'a01da01da01d; expected a01da01da01d and afafafafafaf'],
    ['Dropping', [print('a01d'), print('afaf')], 'a01da01da01d, afafafafafaf; expected afafafafafaf alone'],
  ] as const)(
    'is not proved in %s by a certificate that a trustd ahead of it gave',
    (stage, talosRootAccepted, found) => {
      const except = { w1: { pki: { talosRootAccepted } } };

      expect(ask('w1', { stage, targets: ['talos'], except })?.message).toBe(
        `w1: the Talos root (OSRootSecrets) accepts ${found}`,
      );
    },
  );

  it('keeps what its owner accepts besides both CAs', () => {
    const accepted = [print('a01d'), print('eeee'), print('afaf')];
    const pki = { talosAccepted: accepted, talosRootAccepted: accepted };

    expect(ask('cp1', { targets: ['talos'], except: { cp1: { pki } } })).toBeUndefined();
  });

  it.each([
    ['Accepting', 'Issuing'],
    ['Accepting', 'Dropping'],
    ['Issuing', 'Dropping'],
  ] as const)('is proved in %s when it stands at %s already: what is done stays done', (stage, stands) => {
    expect(ask('cp1', { stage, targets: all, except: { cp1: { stands } } })).toBeUndefined();
    expect(ask('w1', { stage, targets: all, except: { w1: { stands } } })).toBeUndefined();
  });
});

describe('a kubelet that is not back', () => {
  it.each([
    { running: false, healthy: false },
    { running: true, healthy: false },
  ])('is waited for (%j)', (kubelet) => {
    expect(ask('w1', { except: { w1: { talos: { kubelet } } } })).toEqual({
      reason: 'ProvingMachine',
      message: 'w1: its kubelet is not running and healthy',
      machines: ['w1'],
    });
  });
});

describe('the kubelet of a machine that was told in this boot', () => {
  const before = { bootID: 'boot-1', kubeletStartedAt: '2026-11-05T11:00:00.000Z' };
  const startedAt = (at: number | undefined) => ({
    except: {
      w1: { talos: { kubelet: { running: true, healthy: true, ...(at !== undefined && { startedAt: at }) } } },
    },
  });
  const elevenOClock = Date.UTC(2026, 10, 5, 11);

  it('must be another one than before: what it trusts it has read at its start', () => {
    const status = { applied: [wasTold('w1', 'Accepting', before)] };

    expect(ask('w1', { ...startedAt(elevenOClock), status })).toEqual({
      reason: 'ProvingMachine',
      message: 'w1: its kubelet is still the one that started at 2026-11-05T11:00:00.000Z; expected a new one',
      machines: ['w1'],
    });
    expect(ask('w1', { ...startedAt(elevenOClock + 1), status })).toBeUndefined();
  });

  it('is another one after a reboot, whatever its clock says', () => {
    const status = { applied: [wasTold('w1', 'Accepting', { ...before, bootID: 'boot-0' })] };

    expect(ask('w1', { ...startedAt(elevenOClock), status })).toBeUndefined();
  });

  it('is not asked for where it does not restart, or nobody knows when it started', () => {
    const status = { applied: [wasTold('w1', 'Accepting', { bootID: 'boot-1' })] };

    expect(ask('w1', { ...startedAt(elevenOClock), status })).toBeUndefined();
    expect(
      ask('w1', { ...startedAt(undefined), status: { applied: [wasTold('w1', 'Accepting', before)] } }),
    ).toBeUndefined();
  });
});

describe('the kube-apiserver of a control plane that was told in this boot', () => {
  const inThisBoot = wasTold('cp1', 'Accepting', { bootID: 'boot-1', apiServerInstance: 'container-1-of-before' });

  it('must be another container where Talos restarts it', () => {
    const except = { cp1: { instance: 'container-1-of-before' } };

    expect(ask('cp1', { targets: ['kubernetes'], except, status: { applied: [inThisBoot] } })).toEqual({
      reason: 'ProvingMachine',
      message: 'cp1: its kube-apiserver is still container container-1-; expected a new one',
      machines: ['cp1'],
    });
  });

  it('must be the only one: while the one of before is ending, it is what answers on the port', () => {
    const expected = {
      reason: 'ProvingMachine',
      message:
        'cp1: its kube-apiserver of before, container container-1-, still runs beside a new one; expected the new one alone',
      machines: ['cp1'],
    };
    for (const instance of [
      ['container-2', 'container-1-of-before'],
      ['container-1-of-before', 'container-2'],
    ]) {
      const except = { cp1: { instance } };
      expect(ask('cp1', { targets: ['kubernetes'], except, status: { applied: [inThisBoot] } })).toEqual(expected);
    }
  });

  it('must run', () => {
    const except = { cp1: { instance: undefined } };

    expect(ask('cp1', { targets: ['kubernetes-aggregator'], except, status: { applied: [inThisBoot] } })).toEqual({
      reason: 'ProvingMachine',
      message: 'cp1: its kube-apiserver is not running',
      machines: ['cp1'],
    });
  });

  it('must answer on its own machine when it is new', () => {
    const except = { cp1: { apiServer: 'failing: etcd' } };

    expect(ask('cp1', { targets: ['kubernetes'], except, status: { applied: [inThisBoot] } })).toEqual({
      reason: 'ProvingMachine',
      message: 'cp1: its kube-apiserver does not answer /readyz: failing: etcd',
      machines: ['cp1'],
    });
  });

  it('is proved when it is new and answers', () => {
    expect(ask('cp1', { targets: ['kubernetes'], status: { applied: [inThisBoot] } })).toBeUndefined();
  });

  it('may be the same one where Talos does not restart it', () => {
    const except = { cp1: { instance: 'container-1-of-before' } };

    expect(ask('cp1', { targets: ['talos', 'etcd'], except, status: { applied: [inThisBoot] } })).toBeUndefined();
  });

  it('may have the same name in another boot, in which everything is new', () => {
    const applied = [wasTold('cp1', 'Accepting', { bootID: 'boot-0', apiServerInstance: 'container-1' })];

    expect(ask('cp1', { targets: ['kubernetes'], status: { applied } })).toBeUndefined();
  });

  it('is only asked whether it is ready where no container was on record', () => {
    const { apiServerInstance: _none, ...without } = inThisBoot;

    expect(ask('cp1', { targets: ['kubernetes'], status: { applied: [without] } })).toBeUndefined();
  });

  it('is not compared with a record of an earlier stage', () => {
    const applied = [wasTold('cp1', 'Accepting', { bootID: 'boot-1', apiServerInstance: 'container-1' })];

    expect(ask('cp1', { stage: 'Issuing', targets: ['kubernetes'], status: { applied } })).toBeUndefined();
  });

  it('is compared in Finalizing with the record of Dropping, whose configuration it is', () => {
    const applied = [wasTold('cp1', 'Dropping', { bootID: 'boot-1', apiServerInstance: 'container-1' })];

    expect(ask('cp1', { stage: 'Finalizing', targets: ['kubernetes'], status: { applied } })?.message).toBe(
      'cp1: its kube-apiserver is still container container-1; expected a new one',
    );
  });
});

describe('the kube-apiserver of a control plane that tells nothing', () => {
  const [cp1] = anObservation({ targets: ['kubernetes'] }).machines;
  if (cp1?.talos.known !== true) throw new Error('cp1 is known');
  const { apiServer: _reading, ...notAsked } = { ...cp1, talos: cp1.talos };
  const context = contextOf(anObservation({ targets: ['kubernetes'] }));

  it('is not proved where it was not asked', () => {
    expect(unproved(context, notAsked)?.message).toBe('cp1: its kube-apiserver does not answer /readyz: not asked');
  });

  it('is not proved where it could not be asked', () => {
    const apiServer = { known: false, why: 'unreachable', message: 'connection refused' } as const;

    expect(unproved(context, { ...notAsked, apiServer })?.message).toBe(
      'cp1: its kube-apiserver does not answer /readyz: connection refused',
    );
  });
});

describe('a control plane of which nobody says what runs on it', () => {
  it('is not proved where a new kube-apiserver is expected', () => {
    const applied = [wasTold('cp1', 'Accepting', { bootID: 'boot-1' })];
    const observation = anObservation({ targets: ['kubernetes'], status: { applied } });
    const [cp1] = observation.machines;
    if (cp1?.talos.known !== true) throw new Error('cp1 is known');
    const { apiServers: _unread, ...value } = cp1.talos.value;

    expect(unproved(contextOf(observation), { ...cp1, talos: { known: true, value } })?.message).toBe(
      'cp1: its kube-apiserver is not running',
    );
  });
});

describe('what is found for one target', () => {
  const found = (stage: 'Pending' | 'Issuing', options: ObservationOptions) => {
    const store = { material: material(['talos']) };
    const context = contextOf(anObservation({ stage, targets: ['talos'], store, ...options }));
    const machine = context.observation.machines.find(isKnown);
    if (machine === undefined) throw new Error('no machine answers');
    return foundInstead(context, machine, TARGETS.talos);
  };

  it('is compared with the stage of the rotation where the machine is behind it', () => {
    expect(found('Issuing', { stands: 'Accepting' })).toBe(
      'the Talos API is issued by a01da01da01d; expected afafafafafaf',
    );
  });

  it('is nothing before anybody was told', () => {
    expect(found('Pending', {})).toBeUndefined();
  });
});

describe('a proof that does not come', () => {
  const except = { cp2: { instance: 'container-0' } } as const;
  const told = (seconds: number) => [
    wasTold('cp2', 'Accepting', { bootID: 'boot-1', apiServerInstance: 'container-0', appliedAt: ago(seconds) }),
  ];

  it('is waited for within three minutes of the last change', () => {
    expect(decide(anObservation({ except, status: { applied: told(179) } }))).toEqual({
      kind: 'wait',
      reason: 'ProvingMachine',
      message: 'cp2: its kube-apiserver is still container container-0; expected a new one',
      recheckAfterMs: 500,
      watch: ['cp2'],
    });
  });

  it('blocks after them', () => {
    expect(decide(anObservation({ except, status: { applied: told(180) } }))).toEqual({
      kind: 'blocked',
      reason: 'ProvingMachine',
      message: 'cp2: its kube-apiserver is still container container-0; expected a new one',
      recheckAfterMs: 30_000,
    });
  });
});

describe('a machine whose disk does not hold what it runs', () => {
  it('is not proved: the next boot would go back', () => {
    const talos = { configDigest: 'runs', keptDigest: 'keeps' };

    expect(ask('cp1', { targets: ['etcd'], except: { cp1: { talos } } })).toEqual({
      reason: 'ProvingMachine',
      message: 'cp1: the configuration that it keeps for the next boot is not the one that it runs',
      machines: ['cp1'],
    });
  });

  it('is proved once both are the same', () => {
    const talos = { configDigest: 'same', keptDigest: 'same' };

    expect(ask('cp1', { targets: ['etcd'], except: { cp1: { talos } } })).toBeUndefined();
  });
});

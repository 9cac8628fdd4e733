import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CA_STAGES, CA_TARGETS, type CaRotationStatus, type CaStage, type CaTarget } from '../../api/v1alpha1/index.ts';
import { type MachineOptions, pkiAt, type Stands } from '../../test/builders/machine.ts';
import { aCondition, ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { isBehind } from './behind.ts';
import { type Context, controlPlanes, firstBlocker, isKnown } from './context.ts';
import { contextOf, decide } from './decide.ts';
import type { Decision, Effect } from './decision.ts';
import { BEFORE_CHANGE, BEFORE_REBOOT, STAGE_PROVED } from './gates/index.ts';
import { CONFIG_STAGES, configStageOf, type Observation } from './observation.ts';
import { unproved } from './proof.ts';

const STANDS: readonly Stands[] = CONFIG_STAGES;
const targets = fc.subarray([...CA_TARGETS], { minLength: 1 });
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 15 }, { arbitrary, weight: 1 });

/** What may be wrong with one machine; most of the time nothing is. */
const machine: fc.Arbitrary<MachineOptions> = fc
  .record(
    {
      stands: rarely(fc.constantFrom(...STANDS)),
      runs: rarely(fc.constantFrom(...STANDS)),
      unknown: rarely(fc.constantFrom('unreachable', 'untrusted', 'maintenance', 'failed')),
      boot: rarely(fc.constantFrom('boot-0', 'boot-2')),
      instance: rarely(fc.constantFrom('container-0', 'container-2')),
      apiServer: rarely(fc.constant('failing: etcd')),
      etcdUnknown: rarely(fc.constant('deadline exceeded')),
      leader: rarely(fc.constantFrom('cp1', 'cp2')),
      served: rarely(fc.constant({ known: false, why: 'unreachable', message: 'refused' } as const)),
      standing: rarely(fc.constant({ talos: { stage: 'Foreign', why: 'edited' } } as const)),
      node: rarely(
        fc.oneof(
          fc.constant({ ready: false }),
          fc.constant({ cordoned: true, cordonedByUs: true }),
          fc.constant({ cordoned: true }),
          fc.constantFrom('none' as const, 'unknown' as const),
        ),
      ),
      etcd: rarely(fc.constantFrom({ alarms: ['NOSPACE'] }, { leaderId: undefined }, { members: [] })),
      talos: rarely(
        fc.constantFrom(
          { etcdService: { running: true, healthy: false } },
          { kubelet: { running: false, healthy: false } },
          { version: '1.13.0' },
        ),
      ),
    },
    { requiredKeys: [] },
  )
  .map((options) => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)));

const NAMES = ['cp1', 'cp2', 'cp3', 'cp4', 'cp5', 'w1', 'w2', 'w3', 'w9'];
const name = fc.constantFrom(...NAMES);
const seconds = fc.constantFrom(-20, 0, 5, 29, 31, 150, 299, 301, 1199, 1201);

const applied = fc
  .uniqueArray(
    fc.record({
      machine: name,
      stage: fc.constantFrom(...CA_STAGES),
      bootID: fc.constantFrom('boot-0', 'boot-1', 'boot-2'),
      apiServerInstance: fc.constantFrom('container-0', 'container-1'),
      appliedAt: seconds.map(ago),
    }),
    { selector: (each) => each.machine, maxLength: 6 },
  )
  .map((entries): CaRotationStatus['applied'] => entries);

const status: fc.Arbitrary<Partial<CaRotationStatus>> = fc
  .record({
    applied: fc.option(applied, { nil: undefined }),
    inFlight: rarely(
      fc.array(
        fc.record({
          machine: name,
          call: fc.constantFrom('apply' as const, 'reboot' as const),
          bootID: fc.constantFrom('boot-0', 'boot-1'),
          deadline: seconds.map(ago),
        }),
        { maxLength: 2 },
      ),
    ),
    stageStartedAt: rarely(seconds.map(ago)),
    etcdRebooting: rarely(name),
    etcdRebootBootID: rarely(fc.constantFrom('boot-0', 'boot-1')),
    etcdRestartedAt: rarely(seconds.map(ago)),
    etcdRebootSince: rarely(seconds.map(ago)),
    etcdDraining: rarely(name),
    drainStartedAt: rarely(seconds.map(ago)),
    etcdForfeited: rarely(name),
  })
  .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));

/** How far the stage has come: machines told so far, in the order of a pass, and whether told ones have rebooted. */
const progress = fc.record({
  told: fc.constantFrom(0, 1, 2, 3, 4, 5, 99, 99, 99, 99),
  rebooted: fc.boolean(),
  cp1: fc.constantFrom('untouched', 'untouched', 'draining', 'asked', 'back'),
});

const CORDONED: MachineOptions = { node: { cordoned: true, cordonedByUs: true } };

/** The status while the first control plane is drained, was asked to reboot out of its boot, or is back from another. */
function statusOf(step: 'untouched' | 'draining' | 'asked' | 'back'): Partial<CaRotationStatus> {
  if (step === 'untouched') return {};
  const drained = { etcdDraining: 'cp1', drainStartedAt: ago(60) };
  if (step === 'draining') return drained;
  const etcdRebootBootID = step === 'asked' ? 'boot-1' : 'boot-0';
  return { ...drained, etcdRebooting: 'cp1', etcdRebootBootID, etcdRestartedAt: ago(400), etcdRebootSince: ago(400) };
}

const often = <T>(value: T, other: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(value), weight: 12 }, { arbitrary: other, weight: 1 });

const situation = fc.record({
  stage: fc.constantFrom(...CA_STAGES),
  targets,
  progress,
  controlPlanes: often(3, fc.constantFrom(0, 1, 2, 5)),
  workers: fc.constantFrom(0, 1, 3, 4),
  except: fc.oneof(
    { arbitrary: fc.constant({}), weight: 3 },
    { arbitrary: fc.dictionary(name, machine, { maxKeys: 3 }), weight: 2 },
  ),
  status: fc.oneof({ arbitrary: fc.constant({}), weight: 2 }, { arbitrary: status, weight: 2 }),
  paused: often(false, fc.constant(true)),
  deleted: often(false, fc.constant(true)),
  restartWorkloads: fc.constantFrom('Never' as const, 'Rolling' as const),
  machinesIncomplete: rarely(fc.constant('no list')),
  conditions: fc.subarray([
    aCondition('AggregatorAccepted', 'True', 1000),
    aCondition('AuthenticationReset', 'True', 50),
    aCondition('RootCaPublished', 'True', 1000),
    aCondition('DeletionHeld', 'True', 1000),
  ]),
  kubernetes: fc.oneof(
    fc.constant<ObservationOptions['kubernetes'] & object>({}),
    fc.constantFrom<ObservationOptions['kubernetes'] & object>(
      { draining: { known: true, value: [{ pod: 'default/db-0', heldBy: 'PodDisruptionBudget db' }] } },
      { draining: { known: true, value: [{ pod: 'default/web-1' }] } },
      { authentication: { known: true, value: { present: false } } },
      { authentication: { known: true, value: { present: true, uid: 'uid-1', requestheader: [], client: [] } } },
      {
        stalePods: { known: true, value: [{ owner: 'a/Deployment/b', pods: 1, restartable: true }] },
      },
      { unreadyControlPlanePods: { known: true, value: ['kube-scheduler-cp1'] } },
      { rootCa: { known: true, value: { total: 3, stale: ['default'] } } },
    ),
  ),
  store: often<ObservationOptions['store'] & object>(
    {},
    fc.constantFrom<ObservationOptions['store'] & object>(
      { material: undefined },
      { problems: ['talos: no CA'] },
      { otherOperations: ['rotate-0'] },
      { bundleReplaced: false },
    ),
  ),
});

const options: fc.Arbitrary<ObservationOptions> = situation.map(
  ({ progress: { told, rebooted, cp1 }, machinesIncomplete, ...all }) => {
    const stage = configStageOf(all.stage);
    const except: Readonly<Record<string, MachineOptions>> = all.except;
    const order = [...NAMES.slice(0, all.controlPlanes), ...['w1', 'w2', 'w3', 'w4'].slice(0, all.workers)];
    const before = STANDS[Math.max(0, STANDS.indexOf(stage) - 1)] ?? 'Before';
    const behind = Object.fromEntries(order.slice(told).map((each) => [each, { stands: before, ...except[each] }]));
    const bootID = rebooted ? 'boot-0' : 'boot-1';
    return {
      ...all,
      except: {
        ...except,
        ...behind,
        ...(cp1 === 'untouched' ? {} : { cp1: { ...CORDONED, ...behind.cp1, ...except.cp1 } }),
      },
      status: {
        ...statusOf(cp1),
        applied: order.slice(0, told).map((each) => wasTold(each, all.stage, { bootID })),
        ...all.status,
      },
      ...(machinesIncomplete === undefined ? {} : { machinesIncomplete }),
    };
  },
);

const observation = options.map(anObservation);

/** One large sample for every property, each with what was decided about it; the seed makes it the same every day. */
const SEEN = fc
  .sample(observation, { numRuns: 6000, seed: 20261105 })
  .map((each) => ({ each, decision: decide(each), context: contextOf(each) }));

type Seen = (typeof SEEN)[number];

/** Checks a property on every sample, and says which one broke it. */
function always(check: (seen: Seen) => void): void {
  for (const [index, seen] of SEEN.entries()) {
    try {
      check(seen);
    } catch (error) {
      throw new Error(`sample ${index}: ${JSON.stringify(seen.decision)}`, { cause: error });
    }
  }
}

function effectOf(decision: Decision): Effect | undefined {
  return decision.kind === 'act' ? decision.effect : undefined;
}

/** Machines that an effect takes something away from. */
function disturbed(effect: Effect | undefined): readonly string[] {
  if (effect?.kind === 'apply-config' || effect?.kind === 'revert-config' || effect?.kind === 'reboot') {
    return [effect.machine];
  }
  return effect?.kind === 'apply-configs' ? effect.machines : [];
}

/** Whether a machine stands two stages before the rotation's, so that only the others can be well. */
function isTwoBehind({ stage, targets: asked }: Context, { talos }: Observation['machines'][number]): boolean {
  if (!talos.known) return false;
  const stands = asked.map((target) => talos.value.standing[target.name].stage);
  return stands.some((each) => {
    const index = STANDS.indexOf(each as Stands);
    return index >= 0 && STANDS.indexOf(configStageOf(stage)) - index > 1;
  });
}

/** Whether a call of ours may still take effect on a machine. */
function canLand({ operation, machines, now }: Observation): boolean {
  return operation.status.caRotation.inFlight.some((call) => {
    const target = machines.find((each) => each.name === call.machine);
    if (target?.talos.known === true && target.talos.value.bootId !== call.bootID) return false;
    return now - Date.parse(call.deadline) < 10_000;
  });
}

describe('whatever is observed', () => {
  it('the sample holds every kind of decision and effect that the core can make', () => {
    const kinds = new Set(SEEN.map(({ decision }) => (decision.kind === 'act' ? decision.effect.kind : decision.kind)));

    expect([...kinds].toSorted()).toEqual([
      'abandon',
      'apply-config',
      'apply-configs',
      'blocked',
      'complete',
      'cordon',
      'drain',
      'enter-stage',
      'forfeit-leadership',
      'reboot',
      'replace-bundle',
      'reset-authentication',
      'restart-workload',
      'revert-config',
      'uncordon',
      'update-status',
      'wait',
      'write-record',
    ]);
  });

  it('decide says something, with a reason and a message', () => {
    always(({ decision }) => {
      expect(decision.message).not.toBe('');
      if (decision.kind === 'wait' || decision.kind === 'blocked') expect(decision.recheckAfterMs).toBeGreaterThan(0);
    });
  });

  it('the same observation gives the same decision, and is not changed', () => {
    fc.assert(
      fc.property(observation, (each) => {
        const before = JSON.stringify(each);
        expect(decide(structuredClone(each))).toEqual(decide(each));
        expect(JSON.stringify(each)).toBe(before);
      }),
    );
  });

  it('at most one control plane is disturbed at a time, and never one together with a worker', () => {
    always(({ decision }) => {
      const names = disturbed(effectOf(decision));
      expect(names.length === 1 || names.every((one) => one.startsWith('w'))).toBe(true);
      expect(names.length).toBeLessThanOrEqual(5);
    });
  });

  it('no machine is told anything while a gate is in the way, its own left out where it was left behind', () => {
    always(({ decision, context }) => {
      const effect = effectOf(decision);
      if (effect?.kind !== 'apply-config' && effect?.kind !== 'apply-configs') return;
      const leftBehind = new Set(
        context.observation.machines.filter((one) => isTwoBehind(context, one)).map(({ name: each }) => each),
      );
      const [told = ''] = disturbed(effect);
      expect(firstBlocker(BEFORE_CHANGE, leftBehind.has(told) ? { ...context, leftBehind } : context)).toBeUndefined();
    });
  });

  it('no machine is cordoned, drained or rebooted while a gate is in the way, asked for again or not', () => {
    always(({ decision, context }) => {
      if (!['reboot', 'cordon', 'drain'].includes(effectOf(decision)?.kind ?? '')) return;
      expect(firstBlocker(BEFORE_REBOOT, context)).toBeUndefined();
    });
  });

  it('a reboot goes to a machine that is in the boot which the marker names', () => {
    always(({ each, decision }) => {
      if (decision.kind !== 'act' || decision.effect.kind !== 'reboot') return;
      const { machine: rebooted } = decision.effect;
      const marked = decision.mark?.etcdRebootBootID ?? each.operation.status.caRotation.etcdRebootBootID;
      const found = each.machines.find((one) => one.name === rebooted);
      expect(found?.talos.known === true && found.talos.value.bootId).toBe(marked);
    });
  });

  it('nothing is sent while a call can still land', () => {
    always(({ each, decision }) => {
      if (each.operation.status.stage === 'Done' || !canLand(each)) return;
      expect(['update-status', undefined]).toContain(effectOf(decision)?.kind);
    });
  });

  it('nothing is sent to a machine that is unknown, and no stage is left while there is one', () => {
    always(({ each, decision }) => {
      const effect = effectOf(decision);
      const unknown = each.machines.filter((one) => !one.talos.known).map((one) => one.name);
      expect(disturbed(effect).some((one) => unknown.includes(one))).toBe(false);
      if (effect?.kind === 'enter-stage' && each.operation.status.stage !== 'Pending') expect(unknown).toEqual([]);
    });
  });

  it('a stage is left only when every machine stands at it, is proved, and every gate is open', () => {
    always(({ each, decision, context }) => {
      if (effectOf(decision)?.kind !== 'enter-stage' || each.operation.status.stage === 'Pending') return;
      expect(firstBlocker(STAGE_PROVED, context)).toBeUndefined();
      for (const one of each.machines.filter(isKnown)) {
        expect(isBehind(context, one)).toBe(false);
        expect(unproved(context, one)).toBeUndefined();
      }
    });
  });

  it('with etcd, Accepting and Dropping are left only when every control plane has started since it was told', () => {
    always(({ decision, context }) => {
      const effect = effectOf(decision);
      const leaves = effect?.kind === 'enter-stage' && ['Accepting', 'Dropping'].includes(context.stage);
      if (!leaves || !context.targets.some((target) => target.rolled)) return;
      for (const one of controlPlanes(context).filter(isKnown)) {
        const told = context.status.applied.find(
          (entry) => entry.machine === one.name && configStageOf(entry.stage) === configStageOf(context.stage),
        );
        expect(told).toBeDefined();
        expect(told?.bootID).not.toBe(one.talos.value.bootId);
      }
    });
  });

  it('Dropping is not told while some machine does not issue with the new CA', () => {
    always(({ each, decision, context }) => {
      const effect = effectOf(decision);
      if (effect?.kind !== 'enter-stage' || effect.stage !== 'Dropping') return;
      for (const one of each.machines.filter(isKnown)) {
        const found = context.targets.map((target) => one.talos.value.standing[target.name].stage);
        for (const stage of found) expect(['Issuing', 'Dropping', 'NotConcerned']).toContain(stage);
      }
    });
  });

  it('a machine is told the configuration of the stage and of no other', () => {
    always(({ each, decision }) => {
      const effect = effectOf(decision);
      if (effect?.kind !== 'apply-config' && effect?.kind !== 'apply-configs') return;
      expect(effect.stage).toBe(configStageOf(each.operation.status.stage));
    });
  });

  it('whoever is told has a record of this boot, written before', () => {
    always(({ each, decision }) => {
      if (decision.kind !== 'act' || decision.effect.kind === 'reboot') return;
      for (const one of disturbed(decision.effect)) {
        const found = each.machines.find((all) => all.name === one);
        const entries = decision.mark?.applied?.filter((entry) => entry.machine === one) ?? [];
        expect(entries).toHaveLength(1);
        expect(found?.talos.known === true && found.talos.value.bootId).toBe(entries[0]?.bootID);
      }
    });
  });

  it('the stage goes one step forward, never back', () => {
    always(({ each, decision }) => {
      const effect = effectOf(decision);
      if (effect?.kind !== 'enter-stage') return;
      const step = CA_STAGES.indexOf(effect.stage) - CA_STAGES.indexOf(each.operation.status.stage);
      expect([1, 2]).toContain(step);
      if (step === 2) expect(effect.stage).toBe('Issuing');
    });
  });

  it('no machine hears anything while the operation is paused', () => {
    always(({ each, decision }) => {
      if (!each.operation.spec.paused || each.operation.metadata.deletionTimestamp !== undefined) return;
      expect(['update-status', 'uncordon', 'complete', undefined]).toContain(effectOf(decision)?.kind);
    });
  });

  it('without its record a rotation that has begun sends nothing', () => {
    always(({ each, decision }) => {
      if (each.store.material !== undefined || ['Pending', 'Done'].includes(each.operation.status.stage)) return;
      expect(['update-status', 'abandon', undefined]).toContain(effectOf(decision)?.kind);
    });
  });
});

describe('standing is monotone', () => {
  it('a machine that is not behind a stage is not behind an earlier one', () => {
    fc.assert(
      fc.property(fc.constantFrom(...STANDS), targets, fc.constantFrom('cp1', 'w1'), (stands, names, which) => {
        const behind = (['Accepting', 'Issuing', 'Dropping'] as const).map((stage) =>
          ask(stage, names, stands, which, isBehind),
        );
        expect(behind.toSorted((a, b) => Number(a) - Number(b))).toEqual(behind);
      }),
    );
  });

  it('a machine that is proved in a stage is proved in every earlier one', () => {
    fc.assert(
      fc.property(fc.constantFrom(...STANDS), targets, fc.constantFrom('cp1', 'w1'), (stands, names, which) => {
        for (const stage of ['Accepting', 'Issuing', 'Dropping'] as const) {
          if (STANDS.indexOf(stands) < STANDS.indexOf(stage)) continue;
          expect(ask(stage, names, stands, which, unproved)).toBeUndefined();
        }
      }),
    );
  });

  it('no machine trusts less from one stage to the next before Dropping', () => {
    for (const [earlier, later] of [
      ['Before', 'Accepting'],
      ['Accepting', 'Issuing'],
    ] as const) {
      const [a, b] = [pkiAt(earlier), pkiAt(later)];
      expect(b.talosAccepted).toEqual(expect.arrayContaining([...a.talosAccepted]));
      expect(b.etcdTrusted).toEqual(expect.arrayContaining([...a.etcdTrusted]));
    }
  });
});

function ask<T>(
  stage: CaStage,
  names: readonly CaTarget[],
  stands: Stands,
  which: string,
  question: (context: ReturnType<typeof contextOf>, machine: Parameters<typeof isBehind>[1]) => T,
): T {
  const context = contextOf(anObservation({ stage, targets: names, stands }));
  const found = context.observation.machines.filter(isKnown).find((each) => each.name === which);
  if (found === undefined) throw new Error(`${which} is known`);
  return question(context, found);
}

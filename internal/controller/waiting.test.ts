import { describe, expect, it } from 'vitest';
import { ago, anObservation, NOW, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { DEFAULT_SETTINGS } from '../rotation/context.ts';
import { decide } from '../rotation/decide.ts';
import type { Effect } from '../rotation/decision.ts';
import type { Observation } from '../rotation/observation.ts';
import type { Observed } from './observe.ts';
import { stillWaiting, watchedFor } from './waiting.ts';

const applied = [wasTold('cp2', 'Accepting', { bootID: 'boot-1', apiServerInstance: 'old', appliedAt: ago(5) })];

/** cp2 was told five seconds ago, and runs the kube-apiserver of before. */
function restarting(options: ObservationOptions = {}): Observation {
  return anObservation({ except: { cp2: { instance: 'old' } }, status: { applied }, ...options });
}

interface Again {
  /** As everything was at the last whole look, and whom that left to be waited for. */
  readonly before?: Observation;
  readonly machines?: readonly string[];
  /** Milliseconds since that look began, on the monotonic clock and on the wall clock, and how long the answers take. */
  readonly passed?: number;
  readonly wall?: number;
  readonly answersAfter?: number;
}

/** Looks again at whom one waits for, as they are in `now`; `asked` names everybody that was looked at. */
async function lookAgain(
  now: Observation,
  { before = restarting(), machines = ['cp2'], passed = 4_999, wall = passed, answersAfter = 0 }: Again = {},
) {
  const asked: string[] = [];
  let took = 0;
  const observed = {
    observation: before,
    startedAt: NOW,
    // The wall clock of this host is an hour ahead.
    aheadMs: 3_600_000,
    lookAgain: async (name: string) => {
      asked.push(name);
      took = answersAfter;
      return now.machines.find((each) => each.name === name);
    },
  } as Pick<Observed, 'observation' | 'startedAt' | 'aheadMs' | 'lookAgain'> as Observed;
  const still = await stillWaiting(
    { observed, machines },
    {
      ports: { clock: { now: () => NOW + 3_600_000 + wall + took } },
      memory: { time: { now: () => NOW + passed + took, since: () => 0 } },
      settings: DEFAULT_SETTINGS,
      operation: now.operation,
    },
  );
  return { still, message: still?.decision.message, asked };
}

describe('a wait for one machine', () => {
  it('goes on while that machine, asked alone, is not there yet; the others are as they were', async () => {
    const now = restarting({ except: { cp2: { instance: undefined }, cp1: { unknown: 'unreachable' } } });
    const { still, message, asked } = await lookAgain(now);
    const before = restarting();
    const machines = before.machines.map((old) => (old.name === 'cp2' ? now.machines[1] : old));

    expect(message).toBe('cp2: its kube-apiserver is not running');
    expect(asked).toEqual(['cp2']);
    expect(still?.observation).toEqual({ ...before, now: NOW + 4_999, operation: now.operation, machines });
  });

  it('is asked of everybody when something is to be done', async () => {
    expect((await lookAgain(restarting({ except: {} }))).still).toBeUndefined();
  });

  it('is asked of everybody when it becomes a wait for somebody else', async () => {
    const before = restarting({ except: { cp2: { instance: 'old' }, cp3: { apiServer: 'failing: etcd' } } });

    expect((await lookAgain(restarting({ except: {} }), { before })).still).toBeUndefined();
  });

  it.each([
    ['five seconds', { passed: 5_000 }],
    ['five seconds of the wall clock, as where the host slept', { passed: 1_000, wall: 5_000 }],
    ['five seconds of its own, where the wall clock was put back', { passed: 5_000, wall: -60_000 }],
  ])('is asked of everybody after %s, without a look at that machine before', async (_what, again) => {
    expect(await lookAgain(restarting(), again)).toMatchObject({ still: undefined, asked: [] });
  });

  it('is asked of everybody where the answer took until then', async () => {
    expect((await lookAgain(restarting(), { passed: 1_000, answersAfter: 3_999 })).message).toBeDefined();
    expect(await lookAgain(restarting(), { passed: 1_000, answersAfter: 4_000 })).toMatchObject({
      still: undefined,
      asked: ['cp2'],
    });
  });

  it('is not the wait of another operation', async () => {
    const now = restarting();
    const { operation } = now;
    const other = { ...operation, metadata: { ...operation.metadata, uid: 'another' } };

    expect(await lookAgain({ ...now, operation: other })).toMatchObject({ still: undefined, asked: [] });
  });

  it('is asked of everybody where that machine is in no list', async () => {
    const machines = restarting().machines.filter(({ name }) => name !== 'cp2');

    expect(await lookAgain({ ...restarting(), machines })).toMatchObject({ still: undefined, asked: ['cp2'] });
  });

  it('follows what somebody does to the operation', async () => {
    expect((await lookAgain(restarting({ paused: true }))).still).toBeUndefined();
  });

  it('becomes a block in its time, of which a whole look is asked', async () => {
    const toldBefore = (seconds: number) => {
      const status = { applied: applied.map((each) => ({ ...each, appliedAt: ago(seconds) })) };
      return lookAgain(restarting({ status }), { before: restarting({ status }), passed: 4_000 });
    };

    expect((await toldBefore(175)).message).toBe('cp2: its kube-apiserver is still container old; expected a new one');
    expect((await toldBefore(176)).still).toBeUndefined();
  });
});

describe('a wait for several machines that were told at once', () => {
  it('reads all of them, and goes on while one of them is not there yet', async () => {
    const workers = ['w2', 'w3'];
    const told = [wasTold('cp1', 'Accepting'), wasTold('w1', 'Accepting')];
    const at = (state: object, names: string[]) =>
      anObservation({
        ...{ controlPlanes: 1, workers: 3, except: Object.fromEntries(names.map((name) => [name, state])) },
        status: { applied: [...told, ...workers.map((name) => wasTold(name, 'Accepting', { appliedAt: ago(1) }))] },
      });
    const before = {
      ...at({ stands: 'Before' }, workers),
      operation: anObservation({ status: { applied: told } }).operation,
    };
    const machines = watchedFor(decide(before));
    const { still, asked } = await lookAgain(at({ runs: 'Before' }, ['w3']), { before, machines: machines ?? [] });

    expect(machines).toEqual(workers);
    expect(asked).toEqual(workers);
    expect(still?.decision).toMatchObject({ kind: 'wait', watch: ['w3'] });
    expect(still?.observation.machines).toEqual(at({ runs: 'Before' }, ['w3']).machines);
  });
});

describe('a wait for a person', () => {
  it('goes on without a look at anybody', async () => {
    const annotations = { 'ichor.maesh.dev/credentials-handoff': '' };
    const now = anObservation({ stage: 'AwaitingCredentials', annotations });

    expect(await lookAgain(now, { machines: [], before: now })).toMatchObject({
      message:
        'the new talosconfig and kubeconfig are ready; waiting for the acknowledgement that somebody has taken them',
      asked: [],
    });
  });
});

describe('whom a decision leaves to be looked at alone', () => {
  const about = (effect: Effect) => watchedFor({ kind: 'act', effect, reason: 'ApplyingConfiguration', message: '' });
  const wait = { kind: 'wait', reason: 'ProvingMachine', message: '', recheckAfterMs: 500 } as const;

  it('is whom a wait names, and everybody where it names nobody', () => {
    expect(watchedFor({ ...wait, watch: ['w1'] })).toEqual(['w1']);
    expect(watchedFor(wait)).toBeUndefined();
  });

  it.each<Effect>([
    { kind: 'apply-config', machine: 'cp1', stage: 'Issuing' },
    { kind: 'revert-config', machine: 'cp1', to: 'Before' },
    { kind: 'apply-configs', machines: ['cp1'], stage: 'Issuing' },
  ])('is the machine that was told something: $kind', (effect) => {
    expect(about(effect)).toEqual(['cp1']);
  });

  it.each<Effect>([
    { kind: 'cordon', machine: 'cp1' },
    { kind: 'uncordon', machine: 'cp1' },
    { kind: 'reboot', machine: 'cp1' },
    { kind: 'update-status' },
    { kind: 'enter-stage', stage: 'Issuing' },
  ])('is everybody after what a machine itself shows nothing of, or takes its connections away: $kind', (effect) => {
    expect(about(effect)).toBeUndefined();
  });

  it('is everybody where a person is needed, or it is over', () => {
    expect(watchedFor({ ...wait, kind: 'blocked' })).toBeUndefined();
    expect(watchedFor({ kind: 'done', reason: 'Completed', message: '' })).toBeUndefined();
  });
});

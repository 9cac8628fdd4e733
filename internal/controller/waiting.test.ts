import { describe, expect, it } from 'vitest';
import { ago, anObservation, type ObservationOptions, wasTold } from '../../test/builders/rotation.ts';
import { DEFAULT_SETTINGS } from '../rotation/context.ts';
import type { Effect } from '../rotation/decision.ts';
import type { MachineObservation, Observation } from '../rotation/observation.ts';
import type { Observed } from './observe.ts';
import { stillWaiting, watchedFor } from './waiting.ts';

const applied = [wasTold('cp2', 'Accepting', { bootID: 'boot-1', apiServerInstance: 'old', appliedAt: ago(5) })];

/** cp2 was told five seconds ago, and runs the kube-apiserver of before. */
function restarting(options: ObservationOptions = {}): Observation {
  return anObservation({ except: { cp2: { instance: 'old' } }, status: { applied }, ...options });
}

/** Looks at cp2 again, as it is in `now`; `asked` names everybody that was looked at. */
async function lookAgain(
  now: Observation,
  { machines = ['cp2'], lookedAt = 0, before = restarting(), at = 4_999 } = {},
): Promise<{ message: string | undefined; machines: readonly MachineObservation[]; asked: string[] }> {
  const asked: string[] = [];
  const observed = {
    observation: before,
    lookAgain: async (name: string) => {
      asked.push(name);
      return now.machines.find((each) => each.name === name);
    },
  } as Pick<Observed, 'observation' | 'lookAgain'> as Observed;
  const still = await stillWaiting(
    { observed, machines, lookedAt },
    {
      memory: { time: { now: () => now.now, since: () => 0 } },
      settings: DEFAULT_SETTINGS,
      operation: now.operation,
      now: at,
    },
  );
  return { message: still?.decision.message, machines: still?.observation.machines ?? [], asked };
}

describe('a wait for one machine', () => {
  it('goes on while that machine, asked alone, is not there yet; the others are as they were', async () => {
    const now = restarting({
      except: { cp2: { instance: undefined }, cp1: { unknown: 'unreachable' } },
    });
    const { message, machines, asked } = await lookAgain(now);

    expect(message).toBe('cp2: its kube-apiserver is not running');
    expect(asked).toEqual(['cp2']);
    expect(machines.map(({ name, talos }) => [name, talos.known])).toEqual([
      ['cp1', true],
      ['cp2', true],
      ['cp3', true],
      ['w1', true],
    ]);
  });

  it('is asked of everybody when something is to be done', async () => {
    expect((await lookAgain(restarting({ except: {} }))).message).toBeUndefined();
  });

  it('is asked of everybody when it becomes a wait for somebody else', async () => {
    const before = restarting({ except: { cp2: { instance: 'old' }, cp3: { apiServer: 'failing: etcd' } } });

    expect((await lookAgain(restarting({ except: {} }), { before })).message).toBeUndefined();
  });

  it('is asked of everybody after five seconds, without a look at that machine before', async () => {
    expect(await lookAgain(restarting(), { at: 5_000 })).toMatchObject({ message: undefined, asked: [] });
    expect(await lookAgain(restarting(), { lookedAt: 1, at: 5_000 })).toMatchObject({ asked: ['cp2'] });
  });

  it('is not the wait of another operation', async () => {
    const now = restarting();
    const { operation } = now;
    const other = { ...operation, metadata: { ...operation.metadata, uid: 'another' } };

    expect(await lookAgain({ ...now, operation: other })).toMatchObject({ message: undefined, asked: [] });
  });

  it('is asked of everybody where that machine is in no list', async () => {
    const before = restarting();
    const machines = before.machines.filter(({ name }) => name !== 'cp2');
    const status = { etcdRebooting: 'cp2', etcdRebootBootID: 'boot-1', etcdRestartedAt: ago(5) };
    const gone = { ...restarting({ status, machinesIncomplete: 'no API server answers' }), machines };

    expect(await lookAgain(gone, { before: gone })).toMatchObject({ message: undefined, asked: ['cp2'] });
  });

  it('follows what somebody does to the operation', async () => {
    expect((await lookAgain(restarting({ paused: true }))).message).toBeUndefined();
  });

  it('becomes a block in its time', async () => {
    const late = [{ ...applied[0], appliedAt: ago(180) }] as typeof applied;

    expect((await lookAgain(restarting({ status: { applied: late } }))).message).toBeUndefined();
  });
});

describe('a wait for a person', () => {
  it('goes on without a look at anybody', async () => {
    const now = anObservation({
      stage: 'AwaitingCredentials',
      annotations: { 'ichor.maesh.dev/credentials-handoff': '' },
    });

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
    { kind: 'reboot', machine: 'cp1' },
    { kind: 'apply-configs', machines: ['cp1', 'w2'], stage: 'Issuing' },
  ])('is the machine, the first of several, that was told something: $kind', (effect) => {
    expect(about(effect)).toEqual(['cp1']);
  });

  it.each<Effect>([
    { kind: 'cordon', machine: 'cp1' },
    { kind: 'uncordon', machine: 'cp1' },
    { kind: 'update-status' },
    { kind: 'enter-stage', stage: 'Issuing' },
  ])('is everybody after what a machine itself shows nothing of: $kind', (effect) => {
    expect(about(effect)).toBeUndefined();
  });

  it('is everybody where a person is needed, or it is over', () => {
    expect(watchedFor({ ...wait, kind: 'blocked' })).toBeUndefined();
    expect(watchedFor({ kind: 'done', reason: 'Completed', message: '' })).toBeUndefined();
  });
});

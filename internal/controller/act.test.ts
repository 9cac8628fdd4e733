import { describe, expect, it } from 'vitest';
import { Secret } from '../../pkg/pki/index.ts';
import { TalosError } from '../../pkg/talos/index.ts';
import { aPod } from '../../test/builders/kube-objects.ts';
import { anOperation } from '../../test/builders/rotation.ts';
import type { Actor } from './act.ts';
import { act } from './act.ts';
import { outcomeOf } from './effect-error.ts';
import { digestOf } from './standing.ts';

/** What a machine says to an apply. */
type Answer = 'ok' | 'refused' | 'lost';

/** Somebody who acts on workers that answer so. */
function anActor(answers: Readonly<Record<string, Answer>>, wallClock = 0, took: string[] = []): Actor {
  const machines = Object.keys(answers).map((name) => ({ name, address: name, role: 'worker', node: undefined }));
  const talos = { version: '1.14.1', configDigest: digestOf('before'), bootId: 'boot-1' };
  const failure = (machine: string, outcome: 'not-done' | 'unknown') =>
    new TalosError({ kind: 'unreachable', machine, call: 'ApplyConfiguration', outcome, detail: 'no answer' });
  const clientOf = (name: string) => {
    let config = 'before';
    return {
      configuration: async () => ({ config: Secret.of('machine-config', config) }),
      bootId: async () => 'boot-1',
      apply: async () => {
        if (answers[name] === 'refused') throw failure(name, 'not-done');
        if (answers[name] === 'lost') throw failure(name, 'unknown');
        config = 'after';
        took.push(name);
      },
    };
  };
  return {
    observed: {
      state: { bundle: {}, record: undefined, previous: undefined },
      machines,
      observation: {
        machines: machines.map(({ name }) => ({ name, talos: { known: true, value: talos } })),
        operation: anOperation({ status: { drainStartedAt: '2026-11-05T11:59:00.000Z' } }),
      },
      aheadMs: 0,
      startedAt: 0,
    },
    ports: { clock: { now: () => wallClock } },
    session: { talos: ({ name }: { name: string }, work: (client: unknown) => unknown) => work(clientOf(name)) },
    render: () => 'after',
    deadline: 30_000,
    time: { now: () => 0 },
  } as unknown as Actor;
}

/** What is certain after several workers were told at once. */
async function told(answers: Readonly<Record<string, Answer>>): Promise<string> {
  const effect = { kind: 'apply-configs', machines: Object.keys(answers), stage: 'Accepting' } as const;
  return act(anActor(answers), effect).then(
    () => 'ok',
    (error: unknown) => outcomeOf(error),
  );
}

describe('telling several workers at once', () => {
  it.each<[string, Record<string, Answer>, string]>([
    ['every one took it', { w1: 'ok', w2: 'ok' }, 'ok'],
    ['one refused it', { w1: 'ok', w2: 'refused' }, 'refused'],
    ['one refused it and the reply of a later one was lost', { w1: 'refused', w2: 'lost' }, 'unknown'],
    ['the reply of one was lost and a later one refused it', { w1: 'lost', w2: 'refused' }, 'unknown'],
  ])('where %s', async (_what, answers, outcome) => {
    expect(await told(answers)).toBe(outcome);
  });

  it('says of which machine the configuration cannot be rendered', async () => {
    const render: Actor['render'] = (_config, _changes, _stage, { where }) => {
      throw new Error(`${where}, line 3: no`);
    };

    await expect(
      act({ ...anActor({ w1: 'ok' }), render }, { kind: 'apply-config', machine: 'w1', stage: 'Accepting' }),
    ).rejects.toThrow('nothing was sent: the configuration of w1, line 3: no');
  });

  it('tells those after one that refused it', async () => {
    const took: string[] = [];
    const actor = anActor({ w1: 'refused', w2: 'ok', w3: 'ok' }, 0, took);
    const effect = { kind: 'apply-configs', machines: ['w1', 'w2', 'w3'], stage: 'Accepting' } as const;

    await expect(act(actor, effect)).rejects.toThrow('w1');

    expect(took).toEqual(['w2', 'w3']);
  });
});

describe('letting pods back when a rotation is abandoned', () => {
  const effect = { kind: 'abandon', uncordon: ['cp2'] } as const;

  /** Somebody who has not seen cp2, and who writes down that the record was removed. */
  function without(machinesIncomplete?: string) {
    const removed: string[] = [];
    const actor = anActor({ w1: 'ok' });
    const observation = { ...actor.observed.observation, machinesIncomplete };
    const store = { removeRecord: async () => void removed.push('record') };
    const ports = { ...actor.ports, store };
    return { removed, actor: { ...actor, ports, observed: { ...actor.observed, observation } } as unknown as Actor };
  }

  it('passes over a machine that has left the cluster', async () => {
    const { actor, removed } = without();

    await act(actor, effect);

    expect(removed).toEqual(['record']);
  });

  it("leaves a record in place that is another operation's", async () => {
    const { actor, removed } = without();

    await act(actor, { kind: 'abandon', uncordon: [], keepsRecord: true });

    expect(removed).toEqual([]);
  });

  it('waits for one that could not be listed, with the record in place', async () => {
    const { actor, removed } = without('no API server listed the Nodes');

    await expect(act(actor, effect)).rejects.toThrow(
      'cp2 may still be cordoned, and cannot be let pods back: no API server listed the Nodes',
    );
    expect(removed).toEqual([]);
  });
});

describe('the evacuation of storage around a reboot', () => {
  /** Somebody whose hook writes down what it is asked, and answers that it is at work; `spec` is of the operation. */
  function evacuating(spec: object, hasHook = true, since = 0) {
    const asked: unknown[] = [];
    const ask = async (call: unknown) => {
      asked.push(call);
      return { outcome: 'NotYet', found: 'exit code 75: 2 replicas left' };
    };
    const node = { name: 'node-of-cp1' };
    const machine = { name: 'cp1', address: '10.0.0.1', role: 'controlplane', node };
    const actor = anActor({});
    return {
      asked,
      actor: {
        ...actor,
        observed: {
          ...actor.observed,
          machines: [machine],
          observation: { operation: { metadata: { name: 'rotate-1' }, spec } },
        },
        ports: { ...actor.ports, ...(hasHook ? { evacuation: { ask } } : {}) },
        time: { now: () => Date.UTC(2026, 10, 5, 12), since: () => since },
      } as unknown as Actor,
    };
  }

  it.each(['evacuate', 'readmit'] as const)(
    'asks the hook of the operation to %s, once, and resolves with its answer',
    async (kind) => {
      const { actor, asked } = evacuating({ evacuationHook: '/opt/hook' });

      const answer = await act(actor, { kind, machine: 'cp1' });

      expect(asked).toEqual([
        {
          program: '/opt/hook',
          call: kind,
          machine: 'cp1',
          address: '10.0.0.1',
          node: 'node-of-cp1',
          operation: 'rotate-1',
        },
      ]);
      expect(answer).toEqual({
        outcome: 'NotYet',
        found: 'exit code 75: 2 replicas left',
        at: '2026-11-05T12:00:00.000Z',
      });
    },
  );

  it('tells an answer from those that were heard before this process looked at all', async () => {
    const { actor } = evacuating({ evacuationHook: '/opt/hook' }, true, Date.UTC(2026, 10, 5, 12));

    expect(await act(actor, { kind: 'evacuate', machine: 'cp1' })).toMatchObject({ at: '2026-11-05T12:00:00.001Z' });
  });

  it.each([
    ['there is none any more', {}, true],
    ['none can be run here', { evacuationHook: '/opt/hook' }, false],
  ])('is certainly not done where %s', async (_what, spec, hasHook) => {
    const { actor } = evacuating(spec, hasHook);

    const outcome = await act(actor, { kind: 'evacuate', machine: 'cp1' }).catch(outcomeOf);

    expect(outcome).toBe('refused');
  });

  it('is no business of the cordon and the uncordon', async () => {
    const { actor, asked } = evacuating({ evacuationHook: '/opt/hook' });
    const kube = async () => undefined;
    const session = { kube } as unknown as Actor['session'];
    const state = { bundle: {}, record: undefined } as unknown as Actor['observed']['state'];

    await act({ ...actor, session }, { kind: 'cordon', machine: 'cp1' });
    await act({ ...actor, session, observed: { ...actor.observed, state } }, { kind: 'uncordon', machine: 'cp1' });

    expect(asked).toEqual([]);
  });
});

describe('a drain or a cordon', () => {
  /** Somebody whose API servers each take so long before they fail, and how often one was asked for pods. */
  function slowly(tookMs: number) {
    const asked: string[] = [];
    const actor = anActor({ cp1: 'ok', cp2: 'ok' });
    let now = 0;
    const kube = async ({ name }: { name: string }, work: (client: unknown) => unknown) => {
      const request = async () => {
        asked.push(name);
        now += tookMs;
        throw new Error(`${name} does not answer`);
      };
      return work({ request, requestJson: request, list: request, get: request });
    };
    const machines = actor.observed.machines.map((each) => ({ ...each, role: 'controlplane' as const }));
    const time = { now: () => now };
    const ports = { ...actor.ports, clock: { now: () => now } };
    return {
      asked,
      actor: {
        ...actor,
        observed: { ...actor.observed, machines },
        session: { kube },
        time,
        ports,
      } as unknown as Actor,
    };
  }

  it.each([
    ['drain', 10_000, ['cp2', 'cp1']],
    ['drain', 600_000, ['cp2']],
    ['cordon', 10_000, ['cp2', 'cp1']],
    ['cordon', 600_000, ['cp2']],
  ] as const)(
    'asks another API server only while its time is not over: to %s, each takes %i ms',
    async (kind, tookMs, expected) => {
      const { asked, actor } = slowly(tookMs);

      await expect(act(actor, { kind, machine: 'cp1' })).rejects.toThrow();
      expect(asked).toEqual(expected);
    },
  );
});

describe('a drain', () => {
  it('evicts nobody again who tolerates the cordon and came back: it would go on for ever', async () => {
    const pod = (name: string, creationTimestamp: string) =>
      aPod(name, { metadata: { creationTimestamp }, spec: { tolerations: [{ operator: 'Exists' }] } });
    const items = [pod('before', '2026-11-05T11:58:59Z'), pod('after', '2026-11-05T11:59:00Z')];
    const evicted: string[] = [];
    const request = async ({ path, method }: { readonly path: string; readonly method: string }) => {
      if (method === 'POST') evicted.push(path);
      return { metadata: {}, items };
    };
    const actor = anActor({ cp1: 'ok' });
    const session = {
      kube: async (_machine: unknown, work: (client: unknown) => unknown) => work({ request }),
      drainHeld: new Map(),
    };
    const machines = actor.observed.machines.map((each) => ({ ...each, role: 'controlplane' as const }));

    await act({ ...actor, session, observed: { ...actor.observed, machines } } as unknown as Actor, {
      kind: 'drain',
      machine: 'cp1',
    });

    expect(evicted).toEqual(['/api/v1/namespaces/default/pods/before/eviction']);
  });
});

describe('a machine with a configuration that waits for its next boot', () => {
  const effect = { kind: 'apply-config', machine: 'w1', stage: 'Accepting' } as const;

  /** Somebody who acts on a worker that keeps this text for its next boot, and what was sent. */
  function keeping(kept: string) {
    const took: string[] = [];
    const actor = anActor({ w1: 'ok' }, 0, took);
    const [w1] = actor.observed.observation.machines;
    const talos = { known: true, value: { ...(w1?.talos.known && w1.talos.value), keptDigest: digestOf(kept) } };
    const observation = { ...actor.observed.observation, machines: [{ ...w1, talos }] };
    return { took, actor: { ...actor, observed: { ...actor.observed, observation } } as unknown as Actor };
  }

  it('is sent nothing: an apply would overwrite what somebody staged, and make for good what somebody tries', async () => {
    const { actor, took } = keeping('staged by somebody');

    await expect(act(actor, effect)).rejects.toThrow(
      'w1 keeps another configuration for its next boot than the one that it runs: somebody staged one, or tries one; ' +
        'nothing was sent. Reboot it, wait for the trial to end, or apply the one that is wanted',
    );
    expect(took).toEqual([]);
  });

  it('is told where both are the same', async () => {
    const { actor, took } = keeping('before');

    await act(actor, effect);

    expect(took).toEqual(['w1']);
  });

  it('gives the new CAs back all the same: whoever abandons a rotation must not be held by it', async () => {
    const { actor, took } = keeping('staged by somebody');

    await act(actor, { kind: 'revert-config', machine: 'w1', to: 'Before' });
    await act(actor, { kind: 'revert-config', machine: 'w1', to: 'Accepting' });

    expect(took).toEqual(['w1', 'w1']);
  });
});

describe('a look that took long', () => {
  const effect = { kind: 'apply-config', machine: 'w1', stage: 'Accepting' } as const;

  /** The picture of a look that began so long ago. */
  function seen(agoMs: number) {
    const took: string[] = [];
    const actor = anActor({ w1: 'ok' }, agoMs, took);
    const observed = { ...actor.observed, startedAt: 0 };
    return {
      took,
      actor: { ...actor, observed, deadline: agoMs + 30_000, time: { now: () => agoMs } } as unknown as Actor,
    };
  }

  it('is no reason for a call: what it began with is old by then', async () => {
    const { actor, took } = seen(60_001);

    await expect(act(actor, effect)).rejects.toThrow(
      'what was seen before w1 is to be changed is 60 s old, because a machine or an API server was slow, or this process stood still; nothing was sent',
    );
    expect(took).toEqual([]);
  });

  it('is one up to a minute', async () => {
    const { actor, took } = seen(60_000);

    await act(actor, effect);

    expect(took).toEqual(['w1']);
  });
});

describe('a host that slept between its look and the call', () => {
  const effect = { kind: 'apply-config', machine: 'w1', stage: 'Accepting' } as const;

  it('sends nothing: what it saw is old', async () => {
    await expect(act(anActor({ w1: 'ok' }, 3_600_000), effect)).rejects.toThrow(
      'this host stood still for 3600 s, or its clock was set, since w1 was observed; nothing was sent',
    );
  });

  it.each([-3_600_000, 5_000])('is none whose clock is corrected by %i ms', async (wallClock) => {
    await expect(act(anActor({ w1: 'ok' }, wallClock), effect)).resolves.toBeUndefined();
  });
});

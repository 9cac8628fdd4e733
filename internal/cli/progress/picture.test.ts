import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { anObservation, wasTold } from '../../../test/builders/rotation.ts';
import { decide } from '../../rotation/decide.ts';
import { remaining } from './estimate.ts';
import { type Look, pictureOf } from './picture.ts';

function look(options: Parameters<typeof anObservation>[0]): Look {
  const observation = anObservation(options);
  return { operation: observation.operation, observation, decision: decide(observation) };
}

function cells(options: Parameters<typeof anObservation>[0]): Record<string, string> {
  const { rows } = pictureOf(look(options));
  return Object.fromEntries(rows.map(({ machine, cells: each }) => [machine, Object.values(each).join(' ')]));
}

describe('pictureOf', () => {
  it('shows who was told, who is being proved and whose turn comes', () => {
    const behind = { stands: 'Before' } as const;

    const found = cells({
      stage: 'Accepting',
      except: { cp3: behind, w1: behind },
      status: { applied: [wasTold('cp1', 'Accepting'), wasTold('cp2', 'Accepting')] },
    });

    assert.deepEqual(found, {
      cp1: 'done todo todo',
      cp2: 'told todo todo',
      cp3: 'todo todo todo',
      w1: 'todo todo todo',
    });
  });

  it('shows the roll of the control planes', () => {
    const found = cells({
      stage: 'Dropping',
      targets: ['etcd'],
      status: { etcdRestarted: ['cp1'], etcdRebooting: 'cp2' },
    });

    assert.deepEqual(found, {
      cp1: 'done done done',
      cp2: 'done done rebooting',
      cp3: 'done done told',
      w1: 'done done done',
    });
  });

  it('shows a machine that is drained', () => {
    assert.equal(
      cells({ stage: 'Accepting', targets: ['etcd'], status: { etcdDraining: 'cp2' } }).cp2,
      'draining todo todo',
    );
  });

  it('shows a machine that does not answer, and one that somebody else changed', () => {
    const foreign = { stage: 'Foreign', why: 'another CA' } as const;

    const found = cells({
      stage: 'Issuing',
      except: { cp2: { unknown: 'unreachable' }, w1: { standing: { talos: foreign } } },
    });

    assert.deepEqual([found.cp2, found.w1], ['done unknown todo', 'done foreign todo']);
  });

  it('marks the stages of the cluster, the hand-off among them', () => {
    const { stages } = pictureOf(look({ stage: 'AwaitingCredentials' }));

    assert.deepEqual(
      stages.map(({ stage, state }) => `${stage} ${state}`),
      ['Accepting done', 'AwaitingCredentials current', 'Issuing todo', 'Dropping todo', 'Finalizing todo'],
    );
  });

  it('knows before the record what is to be replaced, and so how much there is to do', () => {
    const pending = look({ stage: 'Pending', targets: ['etcd'], status: { targets: [] } });

    const picture = pictureOf({
      ...pending,
      observation: { ...pending.observation, store: { ...pending.observation.store, material: undefined } },
    });

    assert.deepEqual(picture.targets, ['etcd']);
    assert.deepEqual(
      picture.stages.map(({ stage }) => stage),
      ['Accepting', 'Issuing', 'Dropping', 'Finalizing'],
    );
    assert.deepEqual(remaining(picture), { plane: 9, worker: 0, roll: 6 });
  });

  it('has no hand-off when nothing changes for the operator', () => {
    const { stages } = pictureOf(look({ stage: 'Issuing', targets: ['etcd', 'kubernetes-aggregator'] }));

    assert.deepEqual(
      stages.map(({ stage, state }) => `${stage} ${state}`),
      ['Accepting done', 'Issuing current', 'Dropping todo', 'Finalizing todo'],
    );
  });
});

describe('remaining', () => {
  it('counts the machines to tell in every stage and the reboots that are certain', () => {
    const picture = pictureOf(
      look({
        stage: 'Accepting',
        targets: ['talos', 'etcd'],
        except: { cp3: { stands: 'Before' }, w1: { stands: 'Before' } },
        status: { etcdRestarted: ['cp1'] },
      }),
    );

    // Accepting: cp3 and w1 to be told, cp2 and cp3 to be rebooted; Issuing and Dropping: everybody.
    assert.deepEqual(remaining(picture), { plane: 1 + 3 + 3, worker: 1 + 1 + 1, roll: 2 + 0 + 3 });
  });

  it('counts no worker where no target concerns workers', () => {
    const picture = pictureOf(look({ stage: 'Issuing', targets: ['kubernetes-aggregator'] }));

    assert.deepEqual(remaining(picture), { plane: 3, worker: 0, roll: 0 });
  });
});

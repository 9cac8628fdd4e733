import assert from 'node:assert/strict';
import { stripVTControlCharacters } from 'node:util';
import { describe, it } from 'vitest';
import { aCliEnvironment } from '../../../test/builders/cli.ts';
import { createManualClock } from '../../../test/builders/manual-clock.ts';
import { anObservation } from '../../../test/builders/rotation.ts';
import type { Decision } from '../../rotation/decision.ts';
import { createOutput } from '../output.ts';
import { createEstimator } from './estimate.ts';
import { createProgress } from './follow.ts';
import { type Look, type Picture, pictureOf } from './picture.ts';
import { duration, renderPicture } from './render.ts';

function aLook(
  message: string,
  options: Parameters<typeof anObservation>[0] = {},
  kind: 'wait' | 'blocked' = 'wait',
): Look {
  const observation = anObservation(options);
  const decision: Decision = { kind, reason: 'ProvingMachine', message, recheckAfterMs: 1_500 };
  return { operation: observation.operation, observation, decision };
}

describe('progress in plain lines', () => {
  it('says each news once, with the stage when it changes', () => {
    const { environment, printed } = aCliEnvironment();
    const progress = createProgress(createOutput(environment, 'text'), createManualClock());

    progress.look(aLook('cp1: waiting for its kube-apiserver, 3 s so far'));
    progress.look(aLook('cp1: waiting for its kube-apiserver, 5 s so far'));
    progress.look(aLook('cp2 does not answer', { stage: 'Issuing' }, 'blocked'));
    progress.end();

    assert.equal(
      printed.stdout,
      `12:00:00 stage Accepting, about 4 min 43 s left
12:00:00   ProvingMachine: cp1: waiting for its kube-apiserver, 3 s so far
12:00:00 stage Issuing, about 3 min 29 s left
12:00:00   blocked, ProvingMachine: cp2 does not answer (A machine was given the configuration of this stage and is being proved. Where it stays so, look at what the message names on that machine, or reboot it: etcd and kube-apiserver start with this configuration then.)
`,
    );
  });

  it('goes to standard error when the result is a document', () => {
    const { environment, printed } = aCliEnvironment();
    const progress = createProgress(createOutput(environment, 'json'), createManualClock());

    progress.say('hello');

    assert.deepEqual(printed, { stdout: '', stderr: 'hello\n' });
  });

  it('is used on a terminal that asks for no colours', () => {
    const { environment, printed } = aCliEnvironment({ isTerminal: true, env: { NO_COLOR: '1' } });

    createProgress(createOutput(environment, 'text'), createManualClock()).look(aLook('cp1: proving'));

    assert.ok(!printed.stdout.includes('\u001b'));
  });
});

describe('the live picture', () => {
  it('draws over what it drew before, and leaves lines that were said above it', () => {
    const { environment, printed } = aCliEnvironment({ isTerminal: true });
    const progress = createProgress(createOutput(environment, 'text'), createManualClock());

    progress.look(aLook('first'));
    const lines = printed.stdout.split('\n').length - 1;
    printed.stdout = '';
    progress.say('a line that stays');

    assert.ok(
      printed.stdout.startsWith(`\r\u001b[${lines}A\u001b[0Ja line that stays\n`),
      JSON.stringify(printed.stdout),
    );
  });
});

describe('renderPicture', () => {
  const picture = pictureOf(
    aLook('cp2: waiting for a new kube-apiserver', {
      stage: 'Issuing',
      except: { cp3: { stands: 'Accepting' }, w1: { stands: 'Accepting' } },
    }),
  );
  const options = { columns: 100, color: false, elapsedMs: 190_000, leftMs: 240_000 };

  it('shows stages, machines and the present step', () => {
    assert.deepEqual(renderPicture(picture, options), [
      'rotate-1: talos, kubernetes  3 min 10 s so far, about 4 min left',
      '✓ Accepting  ✓ Hand-off  ● Issuing  · Dropping  · Finalizing',
      '',
      '         Accepting    Issuing      Dropping',
      'cp1      ✓            ✓            ·',
      'cp2      ✓            ✓            ·',
      'cp3      ✓            ·            ·',
      'w1       ✓            ·            ·',
      '',
      'cp2: waiting for a new kube-apiserver',
    ]);
  });

  it('cuts what would wrap', () => {
    const lines = renderPicture({ ...picture, message: 'a'.repeat(300) }, { ...options, columns: 40 });

    assert.equal(lines.at(-1), `${'a'.repeat(39)}…`);
    assert.equal(lines[1], '✓ Accepting  ✓ Hand-off  ● Issuing  · D…');
  });

  it.each([1, 12, 20, 30, 45, 59, 60, 61])('has no line that is wider than %i columns, coloured or not', (columns) => {
    for (const color of [false, true]) {
      const lines = renderPicture({ ...picture, message: 'm'.repeat(80) }, { ...options, columns, color });

      for (const text of lines) assert.ok(stripVTControlCharacters(text).length <= columns, JSON.stringify(text));
    }
  });

  it('is no higher than the terminal, and leaves out what is done or waits first', () => {
    const [done, , waiting] = picture.rows;
    assert.ok(done !== undefined && waiting !== undefined);
    const rows = [
      { ...done, machine: 'm1', cells: { Accepting: 'done', Issuing: 'done', Dropping: 'done' } },
      { ...waiting, machine: 'm2' },
      { ...waiting, machine: 'm3', cells: { ...waiting.cells, Issuing: 'told' } },
      { ...waiting, machine: 'm4' },
    ] as const;
    const drawn = (height: number) => renderPicture({ ...picture, rows }, { ...options, rows: height });

    assert.deepEqual(drawn(10).slice(4, -2), [
      'm2       ✓            ·            ·',
      'm3       ✓            ◐ proving    ·',
      '… and 2 more machines',
    ]);
    assert.equal(drawn(10).length, 9);
    assert.equal(drawn(11).slice(4, -2).length, 4);
  });

  it('says that it is blocked', () => {
    assert.equal(
      renderPicture({ ...picture, isBlocked: true }, options).at(-1),
      'blocked: cp2: waiting for a new kube-apiserver',
    );
  });
});

describe('the estimate', () => {
  /** A rotation of the Talos CA on one control plane, with this many stages done. */
  function onePlane(done: number): Picture {
    const state = (index: number) => (index < done ? 'done' : 'todo');
    return {
      ...pictureOf(aLook('', { controlPlanes: 1, workers: 0, targets: ['talos'] })),
      rows: [
        { machine: 'cp1', role: 'controlplane', cells: { Accepting: state(0), Issuing: state(1), Dropping: state(2) } },
      ],
    };
  }

  it('starts from what is usual and goes on with what was measured', () => {
    const estimator = createEstimator();

    const before = estimator.look(onePlane(0), 0);
    const after = estimator.look(onePlane(1), 100_000);

    assert.equal(before, 3 * 23_000 + 15_000);
    assert.equal(after, 2 * 100_000 + 15_000);
  });

  it('starts from what reboots of this cluster took before, and from the settles of this run', () => {
    const rolled = pictureOf(aLook('', { controlPlanes: 1, workers: 0, targets: ['etcd', 'kubernetes-aggregator'] }));
    const left = createEstimator().look(rolled, 0);

    assert.equal(
      createEstimator({ rebootMs: 90_000, settleMs: 2_000 }).look(rolled, 0) - left,
      2 * 30_000 - 2 * 118_000,
    );
  });

  it('does not count the time that a person takes', () => {
    const estimator = createEstimator();
    estimator.look({ ...onePlane(0), reason: 'AwaitingCredentials' }, 0);

    const after = estimator.look(onePlane(1), 3_600_000);

    assert.equal(after, 2 * 23_000 + 15_000);
  });
});

describe('duration', () => {
  it.each([
    [0, '0 s'],
    [59_400, '59 s'],
    [60_000, '1 min'],
    [190_000, '3 min 10 s'],
    [3_900_000, '1 h 5 min'],
  ])('writes %d ms as %s', (ms, text) => {
    assert.equal(duration(ms), text);
  });
});

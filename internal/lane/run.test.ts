import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { aLane } from '../../test/builders/lane.ts';
import { type LaneReport, NotDone, type Step } from './model.ts';
import { assertNoSecrets, reportText } from './report.ts';
import { runLane } from './run.ts';

const reads: Step = {
  id: 'reads',
  title: 'Read something',
  stands: ['first list, 1'],
  async run(_context, checks) {
    checks.that('it is there', true, 'yes');
  },
};

function disturbing(id: string, step: Partial<Step> = {}): Step {
  return { ...reads, id, disturbs: 'reboots', ...step };
}

async function run(steps: readonly Step[], consent = true): Promise<LaneReport> {
  const { context } = aLane(async () => 0);
  return runLane({ context, steps, ichorVersion: '1.2.3', consent: async () => consent });
}

function outcomes(report: LaneReport): string[] {
  return report.steps.map(({ id, outcome, why }) => `${id} ${outcome}${why === undefined ? '' : `: ${why}`}`);
}

describe('runLane', () => {
  it('passes where every check of every step does', async () => {
    const report = await run([reads, disturbing('rotates', { needs: ['reads'] })]);

    assert.equal(report.outcome, 'passed');
    assert.deepEqual(outcomes(report), ['reads passed', 'rotates passed']);
    assert.deepEqual(report.steps[0]?.checks, [{ what: 'it is there', ok: true, found: 'yes' }]);
  });

  it('disturbs nothing more after a failure, but reads and tidies up', async () => {
    const failing = disturbing('rotates', {
      async run(_context, checks) {
        checks.that('it ends well', false, 'exit code 7');
      },
    });

    const report = await run([reads, failing, disturbing('again'), { ...reads, id: 'tidies', needs: ['rotates'] }]);

    assert.equal(report.outcome, 'failed');
    assert.deepEqual(outcomes(report), [
      'reads passed',
      'rotates failed',
      'again not-done: the step rotates failed; the cluster is left as it is',
      'tidies passed',
    ]);
  });

  it('fails with what an error says', async () => {
    const broken = { ...reads, run: () => Promise.reject(new Error('cp1 does not answer')) };

    assert.deepEqual(outcomes(await run([broken])), ['reads failed: cp1 does not answer']);
  });

  it('is incomplete where a step cannot be done here', async () => {
    const impossible = { ...reads, run: () => Promise.reject(new NotDone('one control plane')) };

    const report = await run([impossible]);

    assert.deepEqual([report.outcome, outcomes(report)], ['incomplete', ['reads not-done: one control plane']]);
  });

  it('asks before every step that disturbs, and leaves out what is not wanted and what needs it', async () => {
    const report = await run([reads, disturbing('rotates'), { ...reads, id: 'looks', needs: ['rotates'] }], false);

    assert.deepEqual(outcomes(report), [
      'reads passed',
      'rotates not-done: it was not wanted',
      'looks not-done: the step rotates was not done',
    ]);
  });
});

describe('reportText', () => {
  it('shows machines, steps, checks and figures', async () => {
    const step: Step = {
      ...reads,
      async run(_context, checks) {
        checks.that('no etcd loses a member', false, 'cp2: b | c');
        checks.figure('reboots', 6);
      },
    };

    const lines = reportText(await run([step])).split('\n');

    for (const line of [
      '# Verification on a cluster: FAILED',
      '| cp1 | controlplane | v1.14.1 | v1.36.3 |',
      '| [reads](#reads) | first list, 1 | FAILED | 0 s |',
      '| **no** | no etcd loses a member | cp2: b \\| c |',
      '- reboots: 6',
    ]) {
      assert.ok(lines.includes(line), lines.join('\n'));
    }
  });

  it('is refused where it would hold a key, and says nothing of it', () => {
    for (const text of ['-----BEGIN EC PRIVATE KEY-----', 'AGE-SECRET-KEY-1ABC', 'found: dG9rZW4=']) {
      assert.throws(() => assertNoSecrets(text, ['dG9rZW4=']), {
        message: 'the report would hold key material and was not written; please report this',
      });
    }
    assert.doesNotThrow(() => assertNoSecrets('found: yes', ['dG9rZW4=', '']));
  });
});

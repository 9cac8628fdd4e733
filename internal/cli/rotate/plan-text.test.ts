import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { anObservation } from '../../../test/builders/rotation.ts';
import { planOf } from '../../rotation/plan.ts';
import { planText } from './plan-text.ts';

/** The lines of a section, without their dashes. */
function section(text: string, title: string): string[] {
  const lines = text.split('\n');
  const from = lines.indexOf(title) + 1;
  assert.ok(from > 0, text);
  const to = lines.indexOf('', from);
  return lines.slice(from, to < 0 ? undefined : to);
}

function planFor(targets: Parameters<typeof anObservation>[0]): string {
  return planText({ ...planOf(anObservation({ stage: 'Pending', ...targets })), podsToRestart: [] });
}

describe('planText', () => {
  it('names targets and machines first', () => {
    assert.deepEqual(
      planFor({ targets: ['talos', 'etcd'] })
        .split('\n')
        .slice(0, 3),
      ['Plan: replace the Talos API CA, the etcd CA', '  control planes  cp1, cp2, cp3', '  workers         w1'],
    );
  });

  it('says that the control planes of an etcd rotation reboot, and the workers do not', () => {
    const text = planFor({ targets: ['etcd'] });

    assert.ok(text.includes('\n6 to 9 reboots of control planes; workers are not rebooted.\n'), text);
    assert.ok(
      text.includes(
        '    then rebooted one at a time: cp1, cp2, cp3 (each only where it does not serve the new certificate by itself)\n',
      ),
      text,
    );
    assert.ok(!text.includes('hand-off'), text);
  });

  it('says that no machine reboots for the Talos and the Kubernetes CA, and that the hand-off takes a person', () => {
    const text = planFor({ targets: ['talos', 'kubernetes'] });

    assert.ok(text.includes('\nNo machine is rebooted.\n'), text);
    assert.ok(text.includes(' in all, without the time that you take for the hand-off.\n'), text);
  });

  it('says at which steps the evacuation hook is asked, and that its time is not known', () => {
    const text = planFor({ targets: ['etcd'], controlPlanes: 1, evacuationHook: '/opt/storage' });

    const line = '    each: /opt/storage evacuate NODE, cordon, drain, reboot, /opt/storage readmit NODE, uncordon\n';
    // In Accepting, Issuing and Dropping, below what is rebooted.
    assert.equal(text.split(line).length, 4, text);
    assert.equal(text.split(`cp1\n${line}`).length, 3, text);
    assert.ok(text.includes(' in all, without the time that the evacuation hook takes.\n'), text);
  });

  it('says that an evacuation hook is not asked where no machine is rebooted', () => {
    const text = planFor({ targets: ['talos'], evacuationHook: '/opt/storage' });

    assert.deepEqual(section(text, 'Know before:').slice(-1), [
      '  - The evacuation hook /opt/storage is not asked for anything: no machine is rebooted.',
    ]);
    assert.ok(!text.includes('readmit'), text);
  });

  it('says what workers are told before everybody else', () => {
    const text = planFor({ targets: ['talos', 'kubernetes'], workers: 2 });

    assert.ok(
      text.includes(
        '\n    told first, of the Kubernetes API CA alone: w1, w2\n    told in this order: cp1, cp2, cp3, w1, w2; of control planes last: the one whose kube-controller-manager leads\n',
      ),
      text,
    );
  });

  it('lists every check once, with when it is asked', () => {
    const checks = section(planFor({ targets: ['etcd'] }), 'Checked, and waited for, each time:');

    assert.equal(new Set(checks).size, checks.length);
    assert.ok(
      checks.includes('  - the number of control planes is odd (before the start, each reboot)'),
      checks.join('\n'),
    );
    assert.ok(
      checks.includes('  - no other operation is under way on this cluster (before the start)'),
      checks.join('\n'),
    );
  });

  it('names the pods to restart with their owners, and those that no rollout reaches', () => {
    const pods = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const plan = planOf(anObservation({ stage: 'Pending', targets: ['kubernetes'] }));

    const text = planText({
      ...plan,
      podsToRestart: [
        { owner: 'default/Deployment/web', pods, restartable: true },
        { owner: 'default/Pod/alone', pods: ['alone'], restartable: false },
      ],
    });

    assert.deepEqual(
      section(text, 'Pods that have read the Kubernetes CA of now, to be restarted between Issuing and Dropping:'),
      [
        '  - default/Deployment/web: a, b, c, d, e and 2 more',
        '  - default/Pod/alone: alone (no rollout reaches them: replace them yourself)',
      ],
    );
  });

  it('says until when one can go back', () => {
    assert.equal(
      planFor({ targets: ['talos'] })
        .split('\n')
        .at(-1),
      'Point of no return: Dropping (machines have stopped accepting the old certificate authorities). Until then ichor operation delete abandons the rotation.',
    );
  });
});

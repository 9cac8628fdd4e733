import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { ago, anObservation } from '../../../test/builders/rotation.ts';
import { NEW, OLD } from '../../../test/builders/rotation-material.ts';
import { contextOf, decide } from '../decide.ts';
import type { TalosAccessReading } from '../observation.ts';
import { talosAccessRenewed } from './talos-access-renewed.ts';

// P17: a Secret that Talos did not renew would shut its programs out as soon as the old CA goes.
describe('before the old Talos CA is dropped', () => {
  function decided(access: readonly TalosAccessReading[], stageStartedAt?: string) {
    return decide(
      anObservation({
        stage: 'Issuing',
        targets: ['talos'],
        kubernetes: { talosAccess: { known: true, value: access } },
        ...(stageStartedAt === undefined ? {} : { status: { stageStartedAt, applied: [] } }),
      }),
    );
  }

  it('goes on where every talos.dev Secret is by the new CA, and where there is none', () => {
    for (const access of [
      [],
      [{ name: 'default/backup', issuer: NEW.talos, pods: ['a'] }],
      [{ name: 'x/y', pods: [] }],
    ]) {
      const decision = decided(access);

      assert.equal(decision.kind === 'act' && decision.effect.kind, 'enter-stage', JSON.stringify(decision));
    }
  });

  it('waits for one of the old CA, naming it and its pods', () => {
    const decision = decided([{ name: 'default/backup', issuer: OLD.talos, pods: ['a', 'b', 'c', 'd'] }], ago(1));

    assert.deepEqual(decision, {
      kind: 'wait',
      reason: 'RenewingTalosAccess',
      message:
        'Secrets with a certificate of the old Talos CA: default/backup (used by a, b, c and 1 more); expected ones of the new CA',
      recheckAfterMs: 1_500,
    });
  });

  it('names every such Secret, and no more pods than there are', () => {
    const { message } = decided([
      { name: 'default/backup', issuer: OLD.talos, pods: ['a', 'b', 'c'] },
      { name: 'ops/exporter', issuer: OLD.talos, pods: ['d'] },
    ]);

    assert.equal(
      message,
      'Secrets with a certificate of the old Talos CA: default/backup (used by a, b, c), ops/exporter (used by d); expected ones of the new CA',
    );
  });

  it('waits until they are read', () => {
    const observation = anObservation({ stage: 'Issuing', targets: ['talos'] });
    const { talosAccess: _unread, ...kubernetes } = observation.kubernetes;

    assert.deepEqual(decide({ ...observation, kubernetes }), {
      kind: 'wait',
      reason: 'RenewingTalosAccess',
      message: 'reading the Secrets of talos.dev ServiceAccounts',
      recheckAfterMs: 1_500,
    });
  });

  it('takes a Secret by nobody known for none of the old CA, whatever the record lost', () => {
    const talosAccess = { known: true, value: [{ name: 'x/y', pods: [] }] } as const;
    const context = contextOf(anObservation({ stage: 'Issuing', targets: ['talos'], kubernetes: { talosAccess } }));

    assert.equal(talosAccessRenewed({ ...context, material: {} }), undefined);
  });

  it('asks somebody to look when Talos does not renew it', () => {
    const decision = decided([{ name: 'default/backup', issuer: OLD.talos, pods: [] }], ago(3_600));

    assert.deepEqual(decision, {
      kind: 'blocked',
      reason: 'RenewingTalosAccess',
      message: 'Secrets with a certificate of the old Talos CA: default/backup; expected ones of the new CA',
      recheckAfterMs: 30_000,
    });
  });

  it('takes Secrets that could not be read for unknown', () => {
    const talosAccess = { known: false, why: 'failed', message: 'forbidden' } as const;
    const observation = anObservation({ stage: 'Issuing', targets: ['talos'], kubernetes: { talosAccess } });

    const decision = decide(observation);

    assert.equal(decision.reason, 'KubernetesUnknown');
    assert.equal(decision.message, 'talos.dev ServiceAccounts: forbidden');
  });
});

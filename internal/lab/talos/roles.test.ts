import { describe, expect, it } from 'vitest';
import { aClient, aTalosCa } from '../../../test/builders/talos-server.ts';
import { mayCall, maySee, maySeeSecrets, rolesOf } from './roles.ts';

const M = '/machine.MachineService';

describe('roles', () => {
  it.each([
    ['os:reader', `${M}/Version`, true],
    ['os:reader', `${M}/Reboot`, false],
    ['os:reader', `${M}/Read`, false],
    ['os:operator', `${M}/Reboot`, true],
    ['os:operator', `${M}/ApplyConfiguration`, false],
    ['os:etcd:backup', `${M}/EtcdSnapshot`, true],
    ['os:etcd:backup', `${M}/Version`, false],
    ['os:admin', `${M}/ApplyConfiguration`, true],
    ['os:impersonator', `${M}/Version`, false],
    ['system:masters', `${M}/Version`, false],
  ])('%s, %s: %s', (role, path, allowed) => {
    expect(mayCall([role], path)).toBe(allowed);
  });

  it('a reader sees resources, and those with keys only an administrator', () => {
    expect([maySee(['os:reader']), maySeeSecrets(['os:reader']), maySeeSecrets(['os:admin'])]).toEqual([
      true,
      false,
      true,
    ]);
    expect(maySee(['os:etcd:backup'])).toBe(false);
  });

  it('are all organizations of a client certificate', async () => {
    const { certificate } = await aClient(await aTalosCa(), ['os:reader', 'os:etcd:backup']);

    expect(rolesOf(certificate)).toEqual(['os:reader', 'os:etcd:backup']);
  });
});

import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { caOf } from '../../pkg/bundle/index.ts';
import { describeReal } from '../support/real.ts';
import { succeeded } from '../talos/clients.ts';
import { type TalosCluster, talosCluster } from '../talos/cluster.ts';
import { startTraffic, type Traffic } from '../talos/traffic.ts';
import { type OperatorDirectory, operatorDirectory } from './cluster-directory.ts';
import {
  type Before,
  bundleIn,
  expectHealthy,
  expectIdentityKept,
  expectNothingLeft,
  expectOldRefused,
  expectValidConfigurations,
  takeBefore,
} from './end-state.ts';
import { raiseNoSpace } from './etcd-alarm.ts';
import { applyText, asAdministrator, putStrangersCa } from './foreign-edit.ts';
import { buildIchor } from './ichor-process.ts';
import { credentialsIn } from './kubeconfig-credentials.ts';
import { followKubeconfig } from './observed-rotation.ts';
import { type RunningRotation, startRotation } from './running-rotation.ts';

const NEEDS = { tools: ['machined', 'talosctl', 'kubectl', 'etcdctl'], root: true, linux: true };

/** A fault may have to wait for a reboot, for its own effect, and for a look half a minute after it was mended. */
const PATIENT = { timeout: 900_000 };

// One rotation from the first test to the last: each waits for its own moment in it.
describeReal('one rotation of four CAs of 3+1 through every fault of the harness', NEEDS, () => {
  let cluster: TalosCluster;
  let directory: OperatorDirectory;
  let before: Before;
  let traffic: Traffic;
  let hand: NodeJS.Timeout;
  let rotation: RunningRotation;

  beforeAll(async () => {
    const program = await buildIchor();
    cluster = await talosCluster({ controlPlanes: 3, workers: 1, name: 'faults31' });
    directory = await operatorDirectory(cluster);
    before = await takeBefore(cluster);
    const kubeconfig = join(directory.path, 'kubeconfig');
    traffic = startTraffic({ servers: cluster.apiServers, credentials: credentialsIn(kubeconfig) });
    hand = followKubeconfig(kubeconfig, traffic);
    rotation = startRotation(directory.path, program);
  });

  // A test that fails must not leave its fault to the next.
  afterEach(async () => {
    for (const machine of cluster?.machines ?? []) await machine.mend();
  });

  afterAll(async () => {
    clearInterval(hand);
    rotation?.ichor.kill9();
    await traffic?.stop();
    await directory?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** Who the administrator is at this moment of the rotation. */
  const talosconfig = () => join(directory.path, 'talosconfig');

  async function etcdMember(name: string): Promise<string> {
    const status = await asAdministrator(talosconfig(), cluster.machine(name), (machine) => machine.etcd.status());
    return status.memberId;
  }

  it('a frozen kube-apiserver on another machine: the next control plane is not told', PATIENT, async () => {
    await rotation.moment({
      effect: 'apply-config',
      phase: 'after',
      outcome: 'ok',
      stage: 'Accepting',
      machine: 'cp1',
    });
    expect(await cluster.machine('cp3').freeze('kube-apiserver')).toBe(1);

    await rotation.reason('ApiServerNotReady', 'kube-apiserver on cp3');

    expect(rotation.touched().map(({ machine }) => machine)).toEqual(['cp1']);
    cluster.machine('cp3').thaw();
    await rotation.moment({
      effect: 'apply-config',
      phase: 'after',
      outcome: 'ok',
      stage: 'Accepting',
      machine: 'cp2',
    });
  });

  it('an alarm of etcd: no control plane is rebooted before it is disarmed', PATIENT, async () => {
    await rotation.moment({ effect: 'apply-config', phase: 'after', outcome: 'ok', stage: 'Accepting', machine: 'w1' });
    const cp2 = cluster.machine('cp2');
    await raiseNoSpace({ address: cp2.address, memberId: await etcdMember('cp2'), bundle: before.bundle });

    await rotation.reason('EtcdAlarm', 'NOSPACE');

    expect(rotation.touched().filter(({ effect }) => effect === 'reboot')).toEqual([]);
    succeeded('disarm', await cluster.talosctl(['etcd', 'alarm', 'disarm'], { node: cp2.address }));
    await rotation.moment({ effect: 'reboot', phase: 'before', stage: 'Accepting', machine: 'cp1' });
  });

  it('a power loss of one control plane between two reboots: the other one stays up', PATIENT, async () => {
    await rotation.moment({ effect: 'uncordon', phase: 'after', outcome: 'ok', stage: 'Accepting', machine: 'cp1' });
    // Not one that is still to be rebooted: that boot would be the one that it needs.
    await cluster.machine('cp1').powerOff();

    await rotation.reason('MachineUnknown', 'cp1');

    // It may have been cordoned in the same moment; what counts is that it runs.
    expect(rotation.touched().filter(({ effect }) => effect === 'reboot')).toHaveLength(1);
    await cluster.machine('cp1').powerOn();
    await rotation.moment({ effect: 'uncordon', phase: 'after', outcome: 'ok', stage: 'Accepting', machine: 'cp2' });
  });

  it('a control plane that was replaced by an empty one is told and rebooted again', PATIENT, async () => {
    await rotation.moment({ effect: 'uncordon', phase: 'after', outcome: 'ok', stage: 'Accepting', machine: 'cp3' });
    const member = await etcdMember('cp3');
    await cluster.machine('cp3').replace();
    // As on metal: the member that is gone must be removed before the new one can join.
    const removed = await cluster.talosctl(['etcd', 'remove-member', member], { node: cluster.machine('cp1').address });
    succeeded('remove the member', removed);

    await rotation.reason('MachineUnknown', 'cp3');

    await rotation.moment({ effect: 'apply-config', phase: 'before', stage: 'Accepting', machine: 'cp3' });
    await rotation.moment({ effect: 'reboot', phase: 'before', stage: 'Accepting', machine: 'cp3' });
  });

  it('a cut network: a machine that was told and does not answer is not done', PATIENT, async () => {
    await rotation.moment({ effect: 'apply-config', phase: 'after', outcome: 'ok', stage: 'Issuing', machine: 'cp2' });
    const touched = rotation.touched().length;
    await cluster.machine('cp2').cutNetwork();

    await rotation.reason('MachineUnknown', 'cp2');

    expect(rotation.touched()).toHaveLength(touched);
    await cluster.machine('cp2').mendNetwork();
    await rotation.moment({ effect: 'apply-config', phase: 'after', outcome: 'ok', stage: 'Issuing', machine: 'cp3' });
  });

  it('a foreign edit: it is shown, and not overwritten', PATIENT, async () => {
    // While cp3, which was told last, is being proved.
    const touched = rotation.touched().length;
    const w1 = cluster.machine('w1');
    const text = await asAdministrator(talosconfig(), w1, putStrangersCa);

    await rotation.reason('ForeignConfiguration', 'w1, talos: machine.ca holds the CA');

    expect(rotation.touched()).toHaveLength(touched);
    await asAdministrator(talosconfig(), w1, (client) => applyText(client, text));
    await rotation.moment({ effect: 'apply-config', phase: 'after', outcome: 'ok', stage: 'Issuing', machine: 'w1' });
  });

  it('a foreign reboot: nobody else is touched until the machine is back', PATIENT, async () => {
    // The worker is told first, and then control planes in an order that depends on who leads kube-controller-manager.
    const dropped = { effect: 'apply-config', phase: 'after', outcome: 'ok', stage: 'Dropping' } as const;
    await rotation.moment({ ...dropped, machine: 'w1' });
    await rotation.moment(dropped);
    const touched = rotation.touched();
    const other = cluster.controlPlanes.find(({ name }) => name !== touched.at(-1)?.machine) ?? cluster.machine('cp2');
    await asAdministrator(talosconfig(), other, (client) => client.reboot('DEFAULT'));

    await rotation.reason('MachineUnknown', other.name);

    expect(rotation.touched()).toHaveLength(touched.length);
    await rotation.moment(dropped);
  });

  it('is completed all the same, with nothing lost and nothing left', { timeout: 1_800_000 }, async () => {
    const code = await rotation.ichor.ended;

    expect(code, rotation.ichor.output().slice(-3_000)).toBe(0);
    await directory.handBack();
    const after = await bundleIn(directory.path);
    for (const target of CA_TARGETS) {
      expect(caOf(after, target).certificate.fingerprint).not.toBe(caOf(before.bundle, target).certificate.fingerprint);
    }
    expectIdentityKept(before.bundle, after);
    expectNothingLeft(directory.path);
    const reboots = rotation.touched().filter(({ effect }) => effect === 'reboot');
    const timesOf = (name: string) => reboots.filter(({ machine }) => machine === name).length;
    // The one that was replaced had to read the new CA once more.
    expect({ cp1: timesOf('cp1'), cp2: timesOf('cp2'), cp3: timesOf('cp3') }).toEqual({ cp1: 2, cp2: 2, cp3: 3 });
    expect((await traffic.stop()).lostWrites).toBe(0);
    await expectHealthy(cluster);
    await expectValidConfigurations(cluster);
    await expectOldRefused(cluster, before, CA_TARGETS);
  });
});

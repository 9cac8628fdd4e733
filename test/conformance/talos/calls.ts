import { describe, expect, it } from 'vitest';
import { Secret } from '../../../pkg/pki/index.ts';
import {
  BOOT_ID,
  createTalosMachine,
  ETCD_ROOT,
  KUBERNETES_ROOT,
  MACHINE_STATUS,
  MACHINE_TYPE,
  MEMBER,
  NODENAME,
  OS_ROOT,
  type ResourceKind,
  SERVICE,
  STATIC_POD_STATUS,
  type TalosMachine,
} from '../../../pkg/talos/index.ts';
import { failureOf, PATIENT } from './subject.ts';
import type { Subject } from './target.ts';

/** For what is true of a healthy machine, but not at every moment of a busy one. */
const PATIENT_POLL = { timeout: 120_000, interval: 1_000 };

/** Each call of the machine API, and each refusal that needs no change of the machine. */
export function callsConformance(subject: () => Subject): void {
  describe('reading', () => {
    it('the version is that of a Talos with roles', async () => {
      const version = await subject().first.version();

      expect(version.tag).toMatch(/^v1\.\d+\.\d+/);
      expect(version.rbac).toBe(true);
    });

    it('the clock is that of this host, to the second', async () => {
      const { remote, sentAt, receivedAt } = await subject().first.time();

      expect(remote).toBeGreaterThan(sentAt - 2_000);
      expect(remote).toBeLessThan(receivedAt + 2_000);
    });

    it('active and persistent configuration are the same text, with its comments', async () => {
      const [active, persistent] = await Promise.all([
        subject().first.configuration('active'),
        subject().first.configuration('persistent'),
      ]);

      expect(active.config.equals(persistent.config)).toBe(true);
      expect(active.config.expose()).toMatch(/^version: v1alpha1/m);
    });

    it('every required service runs and is healthy', async () => {
      const services = await subject().first.services();

      const healthy = services
        .filter(({ state, healthy }) => state === 'Running' && healthy !== false)
        .map(({ id }) => id);
      expect(healthy).toEqual(
        expect.arrayContaining(['apid', 'containerd', 'cri', 'etcd', 'kubelet', 'machined', 'trustd']),
      );
      for (const { id, events } of services) expect([id, events.length <= 64]).toEqual([id, true]);
    });

    it('the boot ID is the same in COSI and in /proc of the machine', async () => {
      const { first } = subject();
      const file = await first.readFile('/proc/sys/kernel/random/boot_id');

      expect(await first.bootId()).toBe(file.toString().trim());
      expect((await first.get(BOOT_ID))?.spec.bootId).toBe(file.toString().trim());
    });

    it('etcd names every control plane once, knows a leader and has no alarm', async () => {
      const { first, controlPlanes } = subject();
      const [members, status, alarms] = await Promise.all([
        first.etcd.members(),
        first.etcd.status(),
        first.etcd.alarms(),
      ]);

      expect(members.map(({ name }) => name).sort()).toEqual(controlPlanes.map(({ name }) => name).sort());
      expect(members.every(({ learner }) => !learner)).toBe(true);
      expect(members.map(({ id }) => id)).toContain(status.memberId);
      expect(members.map(({ id }) => id)).toContain(status.leader);
      expect(alarms).toEqual([]);
    });

    it('an etcd snapshot ends with the 32 bytes of its hash', async () => {
      let bytes = 0;
      for await (const chunk of subject().first.etcd.snapshot()) bytes += chunk.length;

      expect(bytes % 512).toBe(32);
    });

    it('the containers of the static pods run', async () => {
      const containers = await subject().first.containers();

      const running = containers.filter(({ sandbox, status }) => !sandbox && status === 'CONTAINER_RUNNING');
      expect(running.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['kube-apiserver', 'kube-controller-manager', 'kube-scheduler']),
      );
      for (const { id, podId } of running) expect(id.startsWith(`${podId}:`)).toBe(true);
    });

    it('a kubeconfig is issued for each call and trusts the Kubernetes CA', async () => {
      const { first, target } = subject();
      const [one, two] = await Promise.all([first.kubeconfig(), first.kubeconfig()]);

      expect(one.equals(two)).toBe(false);
      expect(one.expose()).toContain(Buffer.from(target.bundle.kubernetes.certificate.pem).toString('base64'));
    });

    it('a client certificate with a role is issued, and holds what the role may', async () => {
      const { first, target } = subject();
      const issued = await first.issueClient({ roles: ['os:reader'], ttlMs: 3_600_000 });
      const reader = createTalosMachine({ name: first.name, address: first.address, ...issued });

      expect(issued.credentials.certificate.subject).toBe('O=os:reader');
      expect(issued.trust.map(({ fingerprint }) => fingerprint)).toContain(target.bundle.talos.certificate.fingerprint);
      expect((await reader.version()).rbac).toBe(true);
      expect((await reader.get(BOOT_ID))?.spec.bootId).toBe(await first.bootId());
      reader.close();
    });

    it('events begin with the newest ones that were asked for', async () => {
      const events: string[] = [];
      const controller = new AbortController();
      for await (const event of subject().first.events({ tail: 5, signal: controller.signal })) {
        events.push(event.type);
        if (events.length === 5) break;
      }

      expect(events).toHaveLength(5);
    });
  });

  describe('resources', PATIENT, () => {
    it('say who the machine is', async () => {
      const { first, all } = subject();

      expect((await first.get(MACHINE_TYPE))?.spec.role).toBe('controlplane');
      expect((await first.get(NODENAME))?.spec.nodename).toBe(first.name);
      // A static pod may not be ready for a moment on a busy host.
      await expect
        .poll(async () => (await first.get(MACHINE_STATUS))?.spec, PATIENT_POLL)
        .toEqual({ stage: 'running', ready: true, unmet: [] });
      const members = await first.list(MEMBER);
      expect(members.map(({ spec }) => spec.hostname).sort()).toEqual(all.map(({ name }) => name).sort());
    });

    it('hold the CAs of the cluster, each with its key', async () => {
      const { first, target } = subject();
      const { bundle } = target;
      const [os, kubernetes, etcd] = await Promise.all([
        first.get(OS_ROOT),
        first.get(KUBERNETES_ROOT),
        first.get(ETCD_ROOT),
      ]);

      const expected = (ca: typeof bundle.talos) => ({
        certificates: [expect.objectContaining({ fingerprint: ca.certificate.fingerprint })],
        keyFingerprint: ca.certificate.publicKeyFingerprint,
      });
      expect(os?.spec.issuing).toEqual(expected(bundle.talos));
      expect(kubernetes?.spec.issuing).toEqual(expected(bundle.kubernetes));
      expect(kubernetes?.spec.aggregator).toEqual(expected(bundle.aggregator));
      expect(kubernetes?.spec.serviceAccountKey).toBe(bundle.serviceAccount.fingerprint);
      expect(etcd?.spec.ca).toEqual(expected(bundle.etcd));
    });

    it('of the static pods are named after pod and machine', async () => {
      const { first } = subject();
      const ready = async () => (await first.list(STATIC_POD_STATUS)).filter(({ spec }) => spec.ready);
      await expect.poll(ready, PATIENT_POLL).toHaveLength(3);
      const statuses = await ready();

      expect(statuses.map(({ metadata }) => metadata.id).sort()).toEqual([
        `kube-system/kube-apiserver-${first.name}`,
        `kube-system/kube-controller-manager-${first.name}`,
        `kube-system/kube-scheduler-${first.name}`,
      ]);
      expect(statuses.every(({ spec }) => spec.startedAt !== undefined)).toBe(true);
    });

    it('that are not there are undefined; a watch of one begins with its absence', async () => {
      const { first } = subject();

      expect(await first.get(SERVICE, { id: 'nonesuch' })).toBeUndefined();
      for await (const event of first.watch(SERVICE, { id: 'nonesuch' })) {
        expect(event).toEqual({ type: 'destroyed', id: 'nonesuch' });
        break;
      }
    });

    it('of a kind are watched from the present state, which ends with a mark', async () => {
      const seen: string[] = [];
      for await (const event of subject().first.watch(SERVICE)) {
        seen.push('resource' in event ? event.resource.metadata.id : event.type);
        if (event.type === 'bootstrapped') break;
      }

      expect(seen.slice(0, -1)).toEqual(seen.slice(0, -1).toSorted());
      expect(seen).toEqual(expect.arrayContaining(['etcd', 'kubelet', 'bootstrapped']));
    });

    it('of a type that this version does not know are unsupported, which is no lack of rights', async () => {
      const unknown: ResourceKind<unknown> = {
        type: 'Nonesuch.talos.dev',
        namespace: 'runtime',
        id: 'x',
        decode: () => 0,
      };

      expect(await failureOf(subject().first.get(unknown))).toMatchObject({ kind: 'unsupported', outcome: 'not-done' });
    });
  });

  describe('refusals', () => {
    const aConfig = Secret.of('machine-config', 'version: v1alpha1\n');
    const readers = async (roles: readonly string[], use: (machine: TalosMachine) => Promise<void>) => {
      const { first } = subject();
      const machine = createTalosMachine({
        name: first.name,
        address: first.address,
        ...(await first.issueClient({ roles, ttlMs: 3_600_000 })),
      });
      try {
        await use(machine);
      } finally {
        machine.close();
      }
    };

    it('a reader may not see secrets, change anything or read files', async () => {
      await readers(['os:reader'], async (reader) => {
        for (const call of [
          () => reader.configuration('active'),
          () => reader.get(OS_ROOT),
          () => reader.kubeconfig(),
          () => reader.readFile('/etc/hosts'),
          () => reader.reboot('DEFAULT'),
          () => reader.apply({ config: aConfig, mode: 'NO_REBOOT', dryRun: true }),
          () => reader.restartService('kubelet'),
          () => reader.issueClient({ roles: ['os:admin'], ttlMs: 1_000 }),
        ]) {
          expect(await failureOf(call())).toMatchObject({ kind: 'permission', outcome: 'not-done' });
        }
      });
    });

    it('an operator may restart and reboot, and still not see secrets', async () => {
      await readers(['os:operator'], async (operator) => {
        expect(await failureOf(operator.get(OS_ROOT))).toMatchObject({ kind: 'permission' });
        expect(await failureOf(operator.restartService('etcd'))).toMatchObject({ kind: 'refused' });
      });
    });

    it.each(['etcd', 'apid', 'trustd', 'cri', 'containerd', 'machined'])(
      '%s cannot be restarted through the API',
      async (id) => {
        const error = await failureOf(subject().first.restartService(id));

        expect(error).toMatchObject({ kind: 'refused', outcome: 'not-done' });
        expect(error.message).toContain(`service "${id}" doesn't support restart operation via API`);
      },
    );

    it('a service that does not exist is not found', async () => {
      expect(await failureOf(subject().first.restartService('nonesuch'))).toMatchObject({ kind: 'not-found' });
    });

    it.each([
      ['no YAML', 'a: ['],
      ['no configuration', 'hello'],
      ['an unknown field', 'version: v1alpha1\nmachine:\n  nonesuch: 1\n'],
      ['an empty text', ''],
    ])('%s is invalid and changes nothing', async (_name, text) => {
      const { first } = subject();
      const before = await first.configuration('active');

      const error = await failureOf(first.apply({ config: Secret.of('machine-config', text), mode: 'NO_REBOOT' }));

      expect(error).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
      expect(await first.configuration('active')).toEqual(before);
    });

    it('a key in an accepted CA is refused, and not quoted by us', async () => {
      const { first, target } = subject();
      const { config } = await first.configuration('active');
      const key = Buffer.from(target.bundle.talos.key.expose()).toString('base64');
      const crt = Buffer.from(target.bundle.talos.certificate.pem).toString('base64');
      const text = config
        .expose()
        .replace(/^( *)acceptedCAs: \[\]\n|^machine:\n/m, (found, indent) =>
          found.startsWith('machine')
            ? `machine:\n  acceptedCAs:\n    - crt: ${crt}\n      key: ${key}\n`
            : `${indent}acceptedCAs:\n${indent}  - crt: ${crt}\n${indent}    key: ${key}\n`,
        );

      const error = await failureOf(
        first.apply({ config: Secret.of('machine-config', text), mode: 'NO_REBOOT', dryRun: true }),
      );

      expect(error).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
      expect(`${error.stack}${String(error.cause)}`).not.toContain(key.slice(0, 40));
    });

    it('a file that is not there is not found, a directory is no file', async () => {
      const { first } = subject();

      expect(await failureOf(first.readFile('/nonesuch'))).toMatchObject({ kind: 'not-found' });
      expect(await failureOf(first.readFile('/etc'))).toMatchObject({ kind: 'invalid' });
    });
  });
}

/** What only a worker shows. */
export function workerConformance(subject: () => Subject): void {
  describe('a worker', () => {
    const worker = () => {
      const [found] = subject().workers;
      if (found === undefined) throw new Error('this suite needs a worker');
      return found;
    };

    it('has no etcd and no kubeconfig to give', async () => {
      for (const call of [
        () => worker().etcd.status(),
        () => worker().etcd.members(),
        () => worker().etcd.alarms(),
        () => worker().etcd.forfeitLeadership(),
        () => worker().kubeconfig(),
      ]) {
        expect(await failureOf(call())).toMatchObject({ kind: 'unsupported', outcome: 'not-done' });
      }
    });

    it('issues no client certificates', async () => {
      const error = await failureOf(worker().issueClient({ roles: ['os:reader'], ttlMs: 1_000 }));

      expect(error).toMatchObject({ kind: 'unsupported', outcome: 'not-done' });
    });

    it('has no CA key: it accepts the Talos CA, and no other CA is there', async () => {
      const { bundle } = subject().target;
      const [os, kubernetes, etcd] = await Promise.all([
        worker().get(OS_ROOT),
        worker().get(KUBERNETES_ROOT),
        worker().get(ETCD_ROOT),
      ]);

      expect(os?.spec.issuing).toBeUndefined();
      expect(os?.spec.accepted.map(({ fingerprint }) => fingerprint)).toEqual([bundle.talos.certificate.fingerprint]);
      expect([kubernetes, etcd]).toEqual([undefined, undefined]);
    });
  });
}

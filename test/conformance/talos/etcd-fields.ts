import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../pkg/pki/index.ts';
import type { TalosMachine } from '../../../pkg/talos/index.ts';
import { editDocuments } from './documents.ts';
import { seeRow } from './rows.ts';
import { change, PATIENT, until } from './subject.ts';
import type { Subject } from './target.ts';

/** An argument of etcd that shows from outside whether the process has it. */
const METRICS_PORT = 2_381;
const METRICS_URL = `http://0.0.0.0:${METRICS_PORT}`;
const ETCD_SPEC = ['EtcdConfig', 'EtcdSpec'];

/**
 * Other fields of etcd than its CA, up to the reboot that they take: leaves an
 * argument in the configuration, for `etcdFieldsAfterReboot`.
 */
export function etcdFieldsConformance(subject: () => Subject): void {
  describe('other fields of etcd', PATIENT, () => {
    it.each([
      ['its image', ['image'], 'registry.k8s.io/etcd:3.7.2'],
      ['its advertised subnets', ['advertisedSubnets'], ['0.0.0.0/0']],
      ['its arguments', ['extraArgs'], { 'snapshot-count': '20000' }],
    ])('%s: only the specification moves, and no certificate', async (_name, path, value) => {
      await seeRow(subject().first, {
        edit: ({ main }) => main.setIn(['cluster', 'etcd', ...path], main.createNode(value)),
        moves: ETCD_SPEC,
      });
    });

    it('an argument is answered "without a reboot", and the running etcd does not have it', async () => {
      const { first } = subject();

      await change(first, (config) =>
        editDocuments(config, ({ main }) => {
          main.setIn(['cluster', 'etcd', 'extraArgs'], main.createNode({ 'listen-metrics-urls': METRICS_URL }));
        }),
      );

      expect(await listens(first, METRICS_PORT)).toBe(false);
    });
  });
}

/** What the reboot that came after `etcdFieldsConformance` has changed. Takes the argument out of the configuration again. */
export function etcdFieldsAfterReboot(subject: () => Subject): void {
  describe('other fields of etcd, after a reboot', PATIENT, () => {
    it('are what etcd runs with, until the next one', async () => {
      const { first } = subject();
      await until(`etcd listens on ${METRICS_PORT}`, 120_000, () => listens(first, METRICS_PORT));
      const { config } = await first.configuration('active');
      const without = editDocuments(config.expose(), ({ main }) => main.deleteIn(['cluster', 'etcd', 'extraArgs']));

      await first.apply({ config: Secret.of('machine-config', without), mode: 'NO_REBOOT' });

      expect(await listens(first, METRICS_PORT)).toBe(true);
    });
  });
}

/** Whether something accepts connections there. */
function listens(machine: TalosMachine, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: machine.address, port, timeout: 5_000 });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { type KubeClientOptions, KubeError } from '../../../pkg/kube/index.ts';
import { Secret } from '../../../pkg/pki/index.ts';
import { aBundleDocument } from '../../../test/builders/bundle.ts';
import { MADE_AT } from '../../../test/builders/certificates.ts';
import { aCliEnvironment } from '../../../test/builders/cli.ts';
import { aKubeconfig } from '../../../test/builders/kubeconfig.ts';
import { createManualClock, passTime } from '../../../test/builders/manual-clock.ts';
import type { Connections } from '../../controller/index.ts';
import { type AdminCredentials, makeCredentials } from './credentials.ts';
import { verifyCredentials } from './verify.ts';

const NOW = MADE_AT;
const PLANES = [
  { name: 'cp1', address: '10.0.0.1' },
  { name: 'cp2', address: 'fd00::2' },
];

/** What each of them runs with: the second one has a port of its own. */
const CONFIGS: Readonly<Record<string, string>> = {
  '10.0.0.1': 'version: v1alpha1\n',
  'fd00::2': 'version: v1alpha1\ncluster: {controlPlane: {localAPIServerPort: 7443}}\n',
};

async function someCredentials(): Promise<AdminCredentials> {
  const { bundle } = await aBundleDocument();
  const issuedKubeconfig = await aKubeconfig(bundle.kubernetes, NOW, { server: 'https://api.home:6443' });
  return makeCredentials({
    state: { bundle, previous: undefined, record: undefined },
    now: NOW,
    context: { endpoints: [], nodes: [], rest: {} },
    issuedKubeconfig,
  });
}

/** Machines that answer; API servers that answer whatever the function says, by server and try. */
async function someConnections(whoAmI: (server: string, attempt: number) => readonly string[]): Promise<{
  connections: Connections;
  opened: string[];
  closed: string[];
}> {
  const base = await aCliEnvironment().environment.connections();
  const opened: string[] = [];
  const closed: string[] = [];
  const tries = new Map<string, number>();
  const talos = ({ address }: { address: string }) => {
    opened.push(`talos ${address}`);
    return {
      version: async () => ({ tag: 'v1.14.1' }),
      configuration: async () => ({ config: Secret.of('machine-config', CONFIGS[address] ?? ''), version: 1n }),
      close: () => closed.push(`talos ${address}`),
    };
  };
  const kube = ({ server }: KubeClientOptions) => {
    opened.push(`kube ${server}`);
    return {
      server,
      async request({ fresh }: { fresh?: boolean }) {
        assert.equal(fresh, true);
        const attempt = (tries.get(server) ?? 0) + 1;
        tries.set(server, attempt);
        return { status: { userInfo: { username: 'admin', groups: whoAmI(server, attempt) } } };
      },
      close: () => closed.push(`kube ${server}`),
    };
  };
  return { connections: { ...base, talos, kube } as unknown as Connections, opened, closed };
}

describe('verifyCredentials', () => {
  it('tries every control plane and the server of the kubeconfig, each over a connection of its own', async () => {
    const { connections, opened, closed } = await someConnections(() => ['system:masters', 'system:authenticated']);
    const clock = createManualClock();

    const tried = await verifyCredentials(await someCredentials(), {
      connections,
      controlPlanes: PLANES,
      clock,
      onWaiting: () => assert.fail(),
    });

    assert.deepEqual(tried, [
      'talosconfig: cp1 (10.0.0.1) answered, Talos v1.14.1',
      'talosconfig: cp2 (fd00::2) answered, Talos v1.14.1',
      'kubeconfig: cp1 (https://10.0.0.1:6443) answered, we are admin',
      'kubeconfig: cp2 (https://[fd00::2]:7443) answered, we are admin',
      'kubeconfig: the server in the kubeconfig (https://api.home:6443) answered, we are admin',
    ]);
    assert.deepEqual(closed, opened);
  });

  it('waits for an API server that restarts', async () => {
    const { connections } = await someConnections((server, attempt) => {
      if (server === 'https://10.0.0.1:6443' && attempt < 3) {
        throw new KubeError({
          kind: 'unreachable',
          server,
          doing: 'ask who we are',
          found: 'ECONNREFUSED',
          outcome: 'not-done',
        });
      }
      return ['system:masters'];
    });
    const clock = createManualClock();
    const waited: string[] = [];

    const tried = await passTime(
      clock,
      verifyCredentials(await someCredentials(), {
        connections,
        controlPlanes: PLANES,
        clock,
        onWaiting: (error) => waited.push(error.message),
      }),
    );

    assert.equal(tried.length, 5);
    assert.deepEqual(
      waited,
      Array(2).fill('unreachable: could not ask who we are on https://10.0.0.1:6443: ECONNREFUSED'),
    );
  });

  it('refuses a certificate that is taken for somebody without rights', async () => {
    const { connections } = await someConnections(() => ['system:authenticated']);

    await assert.rejects(
      verifyCredentials(await someCredentials(), {
        connections,
        controlPlanes: PLANES,
        clock: createManualClock(),
        onWaiting: () => assert.fail(),
      }),
      {
        message:
          'https://10.0.0.1:6443 takes the new kubeconfig for admin in system:authenticated; expected the group system:masters',
      },
    );
  });
});

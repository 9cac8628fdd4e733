import { describe, expect, it } from 'vitest';
import { type KubeClient, KubeError } from '../../pkg/kube/index.ts';
import { readApiServerPort } from '../../pkg/machineconfig/index.ts';
import { Secret } from '../../pkg/pki/index.ts';
import { createManualClock } from '../../test/builders/manual-clock.ts';
import type { Connections } from './ports.ts';
import { createSession, type MachineRef, type Readers, type Session } from './session.ts';

const CP1: MachineRef = { name: 'cp1', address: '10.0.0.1' };
const CP2: MachineRef = { name: 'cp2', address: '10.0.0.2' };

/** What an API server answers to a write. */
const asksForPatience = (retryAfterMs: number | undefined): KubeError =>
  new KubeError({
    kind: 'server-error',
    server: 'https://10.0.0.1:6443',
    doing: 'cordon cp3',
    found: 'status 503 ServiceUnavailable: apiserver is shutting down',
    outcome: 'unknown',
    status: 503,
    retryAfterMs,
  });

/** A session whose API servers answer as `answers` says at that moment, and how often each was asked. */
function aSession(answers: Record<string, KubeError | undefined>) {
  const clock = createManualClock();
  const asked: Record<string, number> = { cp1: 0, cp2: 0 };
  const configs: Record<string, string> = {};
  const seen: string[] = [];
  const connections = {
    talos: ({ name }: MachineRef) => ({
      kubeconfig: async () => Secret.of('kubeconfig', 'any'),
      configuration: async (which: string) => {
        seen.push(`read the ${which} configuration of ${name}`);
        return { config: Secret.of('machine-config', configs[name] ?? 'version: v1alpha1'), version: 1n };
      },
      close() {},
      reconnect() {},
    }),
    kube({ server }: { server: string }) {
      seen.push(`open ${server}`);
      return { close: () => void seen.push(`close ${server}`) } as KubeClient;
    },
  } as unknown as Connections;
  const kubeconfig = (async (_text: string, options: unknown) => options) as unknown as Readers['kubeconfig'];
  const session = createSession({ connections, clock }, { kubeconfig, apiServerPort: readApiServerPort });
  session.use([{}] as unknown as Parameters<Session['use']>[0]);
  const ask = (machine: MachineRef): Promise<string> =>
    session
      .kube(machine, async () => {
        asked[machine.name] = (asked[machine.name] ?? 0) + 1;
        const answer = answers[machine.name];
        if (answer !== undefined) throw answer;
        return 'answered';
      })
      .catch((error: KubeError) => `${error.outcome}: ${error.message}`);
  return { clock, asked, ask, session, configs, seen };
}

describe('an API server that asks for patience', () => {
  it('is not asked before that time, while others are', async () => {
    const answers: Record<string, KubeError | undefined> = { cp1: asksForPatience(5_000) };
    const { clock, asked, ask } = aSession(answers);
    await ask(CP1);
    answers.cp1 = undefined;

    await clock.advance(4_000);
    expect(await ask(CP1)).toBe(
      'not-done: server-error: could not ask again so soon on https://10.0.0.1:6443: ' +
        'status 503 ServiceUnavailable: apiserver is shutting down; it asked for 1 s more of patience',
    );
    expect(await ask(CP2)).toBe('answered');
    expect(asked).toEqual({ cp1: 1, cp2: 1 });

    await clock.advance(1_000);
    expect(await ask(CP1)).toBe('answered');
  });

  it('is asked again after half a minute, however long it asked for', async () => {
    const { clock, asked, ask } = aSession({ cp1: asksForPatience(3_600_000) });
    await ask(CP1);

    await clock.advance(29_999);
    await ask(CP1);
    expect(asked.cp1).toBe(1);
    await clock.advance(1);
    await ask(CP1);
    expect(asked.cp1).toBe(2);
  });

  it('is asked at once where its machine was rebooted meanwhile', async () => {
    const { asked, ask, session } = aSession({ cp1: asksForPatience(5_000) });
    await ask(CP1);
    session.forget(CP1);

    await ask(CP1);

    expect(asked.cp1).toBe(2);
  });

  it('is asked at every look where it named no time', async () => {
    const { asked, ask } = aSession({ cp1: asksForPatience(undefined) });

    await ask(CP1);
    await ask(CP1);

    expect(asked.cp1).toBe(2);
  });
});

describe('where an API server is reached', () => {
  const onPort = (port: string): string =>
    `version: v1alpha1\ncluster:\n  controlPlane:\n    localAPIServerPort: ${port}\n`;

  it('is read from the configuration that the machine runs, once', async () => {
    const { ask, configs, seen } = aSession({});
    configs.cp1 = onPort('7443');

    await ask(CP1);
    await ask(CP1);
    await ask(CP2);

    expect(seen).toEqual([
      'read the active configuration of cp1',
      'open https://10.0.0.1:7443',
      'read the active configuration of cp2',
      'open https://10.0.0.2:6443',
    ]);
  });

  it('is nowhere while that says no port', async () => {
    const { ask, configs, seen } = aSession({});
    configs.cp1 = onPort('https');

    expect(await ask(CP1)).toContain(
      'the configuration of cp1, line 4, cluster.controlPlane.localAPIServerPort: expected a port',
    );
    expect(seen).toEqual(['read the active configuration of cp1']);
  });

  it('is not asked of the machine where somebody has said it', async () => {
    const { ask, session, seen } = aSession({});
    session.listensOn(CP1, 7443);

    await ask(CP1);

    expect(seen).toEqual(['open https://10.0.0.1:7443']);
  });

  it('follows what is said, and stays while nothing else is', async () => {
    const { ask, session, seen } = aSession({});
    session.listensOn(CP1, 6443);
    await ask(CP1);
    session.listensOn(CP1, 6443);
    await ask(CP1);

    session.listensOn(CP1, 7443);
    await ask(CP1);

    expect(seen).toEqual(['open https://10.0.0.1:6443', 'close https://10.0.0.1:6443', 'open https://10.0.0.1:7443']);
  });
});

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBundle, type SecretsBundle } from '../../../pkg/bundle/index.ts';
import { createSystemClock } from '../../../pkg/clock/index.ts';
import { openLab } from '../run-lab.ts';
import type { LabStatus } from '../status.ts';
import { clientsOf, type Proof, proveRotation } from './proofs.ts';
import { type StageTime, watchStages } from './stage-watch.ts';
import { kubeconfigCredentials, startTraffic, type Traffic, type TrafficReport } from './traffic.ts';

/** How a demo is run. */
export interface DemoOptions {
  /** How ichor is started. */
  readonly program: readonly string[];
  readonly controlPlanes: number;
  readonly workers: number;
  readonly bootSeconds: number;
  /** As `rotate-ca --settle` takes it, `2s`. */
  readonly settle: string;
  /** Where `ichor` prints: the terminal of this process, or nowhere. */
  readonly stdio: 'inherit' | 'ignore';
  readonly say: (line: string) => void;
  /** Ends it early; everything is torn down. */
  readonly signal?: AbortSignal;
}

/** How it went. */
export interface DemoResult {
  /** Of `ichor cluster rotate-ca`. */
  readonly exitCode: number;
  /** What `ichor` said on standard error, where its output went nowhere. */
  readonly said: string;
  readonly rotationMs: number;
  readonly stages: readonly StageTime[];
  readonly reboots: readonly { readonly machine: string; readonly times: number }[];
  readonly traffic: TrafficReport;
  readonly proofs: readonly Proof[];
  /** Rotated, every proof holds, no request failed and no write was lost. */
  readonly isWhole: boolean;
}

/**
 * A lab, steady traffic through all of its API servers, all four CAs rotated by
 * `ichor` in a process of its own, the proofs, and nothing left at the end.
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const folder = await mkdtemp(join(tmpdir(), 'ichor-demo-'));
  try {
    const { controlPlanes, workers, bootSeconds } = options;
    const directory = join(folder, 'lab');
    await using open = await openLab({ directory, controlPlanes, workers, bootSeconds, talosVersion: '1.14.1' });
    const status = (): LabStatus => open.lab.status();
    options.say(introduction(options, status()));
    return await rotate(options, directory, status);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function rotate(options: DemoOptions, directory: string, status: () => LabStatus): Promise<DemoResult> {
  const now = createSystemClock().now();
  const old = await clientsOf(await bundleIn(directory), now);
  const kubeconfig = join(directory, 'kubeconfig');
  const planes = status().machines.filter((machine) => machine.role === 'controlplane');
  await using traffic = startTraffic({
    servers: planes.map(({ address, apiServerPort }) => `https://${address}:${apiServerPort}`),
    credentials: kubeconfigCredentials(await readFile(kubeconfig, 'utf8')),
  });
  const following = followKubeconfig(kubeconfig, traffic);
  const watch = watchStages(directory);
  const begin = performance.now();
  let ended: { readonly exitCode: number; readonly said: string };
  try {
    ended = await runIchor(options, directory);
  } finally {
    clearInterval(following);
  }
  const { exitCode, said } = ended;
  const rotationMs = Math.round(performance.now() - begin);
  const stages = await watch.stop();
  traffic.use(kubeconfigCredentials(await readFile(kubeconfig, 'utf8')));
  const bundle = await bundleIn(directory);
  // Nothing is proved of a rotation that did not end.
  const proofs =
    exitCode === 0
      ? await proveRotation({
          machines: status().machines,
          bundle,
          old,
          new: await clientsOf(bundle, createSystemClock().now()),
        })
      : [];
  const report = await traffic.stop();
  return {
    exitCode,
    said,
    rotationMs,
    stages,
    reboots: status().machines.map(({ name, reboots }) => ({ machine: name, times: reboots })),
    traffic: report,
    proofs,
    isWhole: exitCode === 0 && proofs.every(({ holds }) => holds) && report.failed === 0 && report.lostWrites === 0,
  };
}

async function bundleIn(directory: string): Promise<SecretsBundle> {
  const path = join(directory, 'secrets.yaml');
  return (await openBundle(await readFile(path), { path })).bundle;
}

const LOOK_MS = 100;

/** Clients take over whatever kubeconfig stands in the file, as people do after a hand-off. */
function followKubeconfig(file: string, traffic: Traffic): NodeJS.Timeout {
  let known = '';
  async function look(): Promise<void> {
    const text = await readFile(file, 'utf8').catch(() => known);
    if (text === known) return;
    known = text;
    traffic.use(kubeconfigCredentials(text));
  }
  return setInterval(() => void look(), LOOK_MS);
}

/** Resolves when it has ended; a signal is handed on, and `ichor` ends between two steps. */
function runIchor(
  { program, settle, stdio, signal }: DemoOptions,
  directory: string,
): Promise<{ readonly exitCode: number; readonly said: string }> {
  const [command = '', ...first] = program;
  const child = spawn(
    command,
    [...first, 'cluster', 'rotate-ca', '--all', '--yes', '--follow', '--settle', settle, '--dir', directory],
    { stdio: ['ignore', stdio, stdio === 'inherit' ? 'inherit' : 'pipe'] },
  );
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const onAbort = (): void => {
    child.kill('SIGINT');
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      signal?.removeEventListener('abort', onAbort);
      resolve({ exitCode: code ?? 1, said });
    });
  });
}

function introduction({ settle, bootSeconds }: DemoOptions, { machines, directory }: LabStatus): string {
  const count = (role: string): number => machines.filter((machine) => machine.role === role).length;
  return [
    `A lab of ${count('controlplane')} control planes and ${count('worker')} worker runs in ${directory}.`,
    'Its machines are simulated; their APIs, certificates and handshakes are real.',
    `To be quick, machines boot in ${bootSeconds} s and settles take ${settle.replace(/s$/, ' s')} (--settle); in production they take 120 s.`,
    'npm run rotate:real does the same on real Talos Linux (it needs Linux, root and Go).',
    '',
    'Steady clients read and write through all API servers while ichor replaces the four certificate authorities:',
    `  ichor cluster rotate-ca --all --yes --follow --settle ${settle}`,
    '',
  ].join('\n');
}

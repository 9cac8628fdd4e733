import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { AuditEntry } from '../../internal/controller/index.ts';
import { recordIfAsked } from '../recordings/directory.ts';
import { sayOnStderr } from '../support/clock-lines.ts';
import type { TalosCluster } from '../talos/cluster.ts';
import { startTraffic, type Traffic, type TrafficReport } from '../talos/traffic.ts';
import { type IchorProcess, readAudit, startIchor } from './ichor-process.ts';
import { credentialsIn } from './kubeconfig-credentials.ts';

/** One rotation of a real cluster by `ichor` in a process of its own, with traffic running. */
export interface ObservedRotation {
  readonly exitCode: number;
  /** Everything that `ichor` printed. */
  readonly output: string;
  readonly traffic: TrafficReport;
  readonly audit: readonly AuditEntry[];
  /** From the start of `ichor` to its end. */
  readonly wallMs: number;
  /** From the start of `ichor` to the end of what was asked afterwards; `wallMs` where nothing was. */
  readonly afterwardsMs: number;
  /** From the start of the rotation to the end of each stage. */
  readonly stages: readonly { readonly stage: string; readonly ms: number }[];
  /** CPU time and largest resident memory of the `ichor` process. */
  readonly cpuMs: number;
  readonly peakRssBytes: number;
}

/** What to rotate, beside which directory. */
export interface RotationRequest {
  readonly cluster: TalosCluster;
  readonly directory: string;
  /** Arguments after `cluster rotate-ca`: targets and options. */
  readonly args: readonly string[];
  /** When an attempt of a client counts as failed, in milliseconds; the traffic's own default unless given. */
  readonly attemptMs?: number;
  /** A built `ichor`; its sources unless given. */
  readonly program?: string;
  /** Runs after `ichor` ended with success, with the traffic still going on. */
  readonly afterwards?: () => Promise<void>;
  /** Called with all output so far, about twice a second. */
  readonly onOutput?: (text: string) => void;
}

/**
 * Runs `ichor cluster rotate-ca --yes --follow` while clients that know every API
 * server read and write. The clients take over the new kubeconfig as soon as it
 * stands in the directory, as an operator's clients do at the hand-off.
 */
export async function observeRotation(request: RotationRequest): Promise<ObservedRotation> {
  const { cluster, directory } = request;
  const kubeconfig = join(directory, 'kubeconfig');
  using recorder = await recordIfAsked({ directory, machines: cluster.machines, cluster: 'real' });
  await using traffic = startTraffic({
    servers: cluster.apiServers,
    credentials: credentialsIn(kubeconfig),
    ...(request.attemptMs !== undefined && { timeoutMs: request.attemptMs }),
  });
  const started = performance.now();
  const args = ['cluster', 'rotate-ca', '--dir', directory, '--yes', '--follow', ...request.args];
  const ichor = startIchor(args, { home: directory, program: request.program });
  const usage = watchUsage(ichor);
  const follow = setInterval(() => request.onOutput?.(ichor.output()), 500);
  const hand = followKubeconfig(kubeconfig, traffic);
  try {
    const exitCode = await ichor.ended;
    const wallMs = performance.now() - started;
    const spent = usage.stop();
    if (exitCode === 0) await request.afterwards?.();
    const afterwardsMs = request.afterwards === undefined ? wallMs : performance.now() - started;
    if (recorder !== undefined) sayOnStderr(`${args.slice(4).join(' ')}: ${await recorder.finish()}`);
    const audit = readAudit(directory);
    return {
      exitCode,
      output: ichor.output(),
      traffic: await traffic.stop(),
      audit,
      wallMs,
      afterwardsMs,
      stages: stageTimes(audit),
      ...spent,
    };
  } finally {
    clearInterval(follow);
    clearInterval(hand);
    ichor.kill9();
  }
}

/** Lets the traffic take over whatever kubeconfig stands in a file, from then on; `clearInterval` ends it. */
export function followKubeconfig(file: string, traffic: Traffic): NodeJS.Timeout {
  let modified = statSync(file).mtimeMs;
  return setInterval(() => {
    const now = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (now === undefined || now === modified) return;
    modified = now;
    traffic.use(credentialsIn(file));
  }, 50);
}

/** Reads what the kernel counts for the process: its CPU time in ticks of 10 ms and its resident pages. */
function watchUsage({ child }: IchorProcess) {
  let cpuMs = 0;
  let peakRssBytes = 0;
  const read = () => {
    try {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      cpuMs = (Number(fields[11]) + Number(fields[12])) * 10;
      peakRssBytes = Math.max(peakRssBytes, Number(fields[21]) * 4096);
    } catch {
      // It has ended; the last reading stands.
    }
  };
  const timer = setInterval(read, 250);
  return {
    stop() {
      clearInterval(timer);
      return { cpuMs, peakRssBytes };
    },
  };
}

/** When each stage was left, from the first entry of the trail on. */
export function stageTimes(audit: readonly AuditEntry[]): { stage: string; ms: number }[] {
  const [first] = audit;
  if (first === undefined) return [];
  const begin = Date.parse(first.time);
  return audit
    .filter((entry) => entry.effect === 'enter-stage' && entry.phase === 'after' && entry.outcome === 'ok')
    .map((entry) => ({ stage: entry.stage, ms: Date.parse(entry.time) - begin }));
}

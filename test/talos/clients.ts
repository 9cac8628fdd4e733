import { join } from 'node:path';
import { type RunOptions, type RunResult, run, tail } from '../support/run.ts';
import { toolPath } from '../tools/tools.ts';
import { addressOf } from './host/network.ts';
import type { ClusterRecord } from './record.ts';

/**
 * Runs talosctl as the cluster's administrator. It asks one machine by address,
 * whatever nodes the talosconfig names: tests replace that file when they rotate certificates.
 */
export function runTalosctl(
  record: ClusterRecord,
  args: readonly string[],
  options: RunOptions & { node?: string } = {},
): Promise<RunResult> {
  const { node = addressOf({ cluster: record.name, index: record.index }, 1), ...rest } = options;
  const talosconfig = join(record.directory, 'talosconfig');
  return run(toolPath('talosctl'), ['--talosconfig', talosconfig, '--nodes', node, ...args], {
    timeoutMs: 60_000,
    ...rest,
  });
}

/** Runs kubectl as the cluster's administrator. */
export function runKubectl(
  record: ClusterRecord,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const kubeconfig = join(record.directory, 'kubeconfig');
  return run(toolPath('kubectl'), ['--kubeconfig', kubeconfig, '--request-timeout=15s', ...args], {
    timeoutMs: 60_000,
    ...options,
  });
}

/** The output of a command that must have succeeded. */
export function succeeded(what: string, result: RunResult): string {
  if (result.code === 0) return result.stdout;
  throw new Error(`${what}: ${tail(result.stderr || result.stdout, 3)}`);
}

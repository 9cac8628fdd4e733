import type { ObservedRotation } from './observed-rotation.ts';

/** What happened during a rotation, for people. */
export function summaryOf(rotation: ObservedRotation, reboots: readonly (readonly [string, number])[]): string {
  const { traffic, stages } = rotation;
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  let last = 0;
  const perStage = stages.map(({ stage, ms }) => {
    const line = `  ${stage.padEnd(20)} ${seconds(ms - last)}`;
    last = ms;
    return line;
  });
  return [
    '',
    `Rotation: ${rotation.exitCode === 0 ? 'complete' : `ended with exit code ${rotation.exitCode}`} after ${seconds(rotation.wallMs)}`,
    ...perStage,
    `Reboots: ${reboots.map(([name, count]) => `${name} ${count}`).join(', ')}`,
    `Requests: ${traffic.requests}, failed ${traffic.failed}, first attempts that failed ${traffic.retried}, lost writes ${traffic.lostWrites}`,
    `Longest stall of a client: ${seconds(traffic.longestStallMs)}`,
    `Moments without any API server: ${traffic.allDown.times} (${seconds(traffic.allDown.totalMs)})`,
    ...traffic.silentSince.map((time) => `  none answered from ${time} on`),
    ...(traffic.failures.length === 0 ? [] : ['First failures:', ...traffic.failures.map((line) => `  ${line}`)]),
    `Engine: ${seconds(rotation.cpuMs)} CPU, at most ${Math.round(rotation.peakRssBytes / 1e6)} MB resident`,
    '',
  ].join('\n');
}

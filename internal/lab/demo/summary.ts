import type { DemoResult } from './demo.ts';

/** What happened in a demo, for people; no final newline. */
export function demoSummary(result: DemoResult): string {
  const { traffic, stages, reboots, proofs, rotationMs, exitCode, said, isWhole } = result;
  const failed = proofs.filter((proof) => !proof.holds);
  const width = Math.max(0, ...stages.map(({ stage }) => stage.length));
  return [
    ...(proofs.length === 0 ? [] : ['Proofs:']),
    ...proofs.map(({ what, holds, found }) => `  ${holds ? 'yes' : 'NO '}  ${what}${holds ? '' : ` (${found})`}`),
    '',
    `Rotation: ${exitCode === 0 ? 'complete' : `ended with exit code ${exitCode}`} after ${seconds(rotationMs)}`,
    ...(said === ''
      ? []
      : said
          .trimEnd()
          .split('\n')
          .map((line) => `  ${line}`)),
    ...stages.map(({ stage, ms }) => `  ${stage.padEnd(width)}  ${seconds(ms)}`),
    `Reboots: ${reboots.map(({ machine, times }) => `${machine} ${times}`).join(', ')}`,
    `Requests: ${traffic.requests} by steady clients of all API servers; failed ${traffic.failed}, tried again on another server ${traffic.retried}, acknowledged writes lost ${traffic.lostWrites}`,
    `Longest wait of a client for one answer: ${seconds(traffic.longestStallMs)}`,
    `Time without any API server: ${seconds(traffic.allDown.totalMs)}`,
    ...(traffic.failed === 0 ? [] : ['First failures:', ...traffic.failures.slice(0, 5).map((line) => `  ${line}`)]),
    '',
    isWhole
      ? 'All four certificate authorities were replaced, and no request failed.'
      : `The demo is not what it should be: ${exitCode === 0 ? `${failed.length} proofs failed` : 'the rotation did not end'}, ${traffic.failed} requests failed, ${traffic.lostWrites} writes were lost.`,
  ].join('\n');
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

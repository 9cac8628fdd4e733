import { NotDone, type Step } from '../model.ts';
import { checkEnd, rotate } from '../rotate.ts';

/** How long an extension API may be said not to be available while API servers restart one after the other, ms. */
const UNAVAILABLE_AT_MOST_MS = 60_000;

/** The aggregator CA alone: APIs of other servers go on, and the old CA leaves the ConfigMap that they trust by. */
export const aggregator: Step = {
  id: 'aggregator',
  title: 'Rotate the aggregator CA alone',
  stands: ['first list, 4', 'second list, 3'],
  disturbs: 'restarts every kube-apiserver three times, one at a time',
  async run(context, checks) {
    const { readings } = context;
    const before = await readings.extensionApis();
    const metricsBefore = await readings.nodeMetrics();
    if (context.machines.some(({ talos }) => isOlderThan114(talos))) {
      throw new NotDone('Talos before 1.14 has no list of accepted aggregator CAs; ichor refuses this target there');
    }
    const { watched, ...rotated } = await rotate(context, ['kubernetes-aggregator']);
    const { requestHeader } = watched;
    checks.that(
      'requestheader-client-ca-file held both CAs, and then one',
      requestHeader.some((each) => each.length === 2) && requestHeader.at(-1)?.length === 1,
      requestHeader.map((each) => `${each.length}`).join(' → '),
    );
    const last = await readings.requestHeaderCas();
    checks.that(
      'it holds the new CA alone when ichor says that it is done',
      last.length === 1 && last[0] !== requestHeader[0]?.[0],
      last.map((each) => each.slice(0, 16)).join(', '),
    );
    for (const { name } of before.filter((each) => each.available)) {
      const ms = watched.longestUnavailableMs[name] ?? 0;
      checks.that(
        `the API ${name} stays available while API servers restart`,
        ms <= UNAVAILABLE_AT_MOST_MS,
        ms === 0 ? 'at every look' : `not for at most ${(ms / 1000).toFixed(0)} s`,
      );
    }
    if (before.length === 0) checks.figure('extension APIs', 'none is installed');
    if (metricsBefore === undefined) {
      checks.figure('node metrics (kubectl top nodes)', 'metrics-server is not installed');
    } else {
      const { asked, failed } = watched.metrics;
      checks.figure('node metrics (kubectl top nodes)', `asked ${asked} times, no answer ${failed} times`);
      const now = await readings.nodeMetrics().catch(() => undefined);
      checks.that('the metrics of the nodes are there afterwards', now === metricsBefore, `${now ?? 0} nodes`);
    }
    await checkEnd(context, checks, { ...rotated, watched });
  },
};

function isOlderThan114(tag: string): boolean {
  const [, major = '1', minor = '14'] = /^v(\d+)\.(\d+)/.exec(tag) ?? [];
  return Number(major) === 1 && Number(minor) < 14;
}

import { createChecks } from './checks.ts';
import { type LaneContext, type LaneReport, NotDone, type Outcome, type Step, type StepReport } from './model.ts';
import { messageOf } from './rotate.ts';

/** How a lane is run. */
export interface RunOptions {
  readonly context: LaneContext;
  readonly steps: readonly Step[];
  /** Version of the `ichor` under test. */
  readonly ichorVersion: string;
  /** Asked before every step that disturbs the cluster. */
  readonly consent: (step: Step) => Promise<boolean>;
}

/**
 * Goes through the steps. A step that fails ends what disturbs the cluster: what
 * is broken is to be looked at as it is. Steps that only read, and the one that
 * tidies up, are still done where what they need is there.
 */
export async function runLane(options: RunOptions): Promise<LaneReport> {
  const { context, steps } = options;
  const startedAt = iso(context);
  const reports: StepReport[] = [];
  for (const step of steps) {
    const reason = whyNot(step, reports);
    const isWanted = reason === undefined && (step.disturbs === undefined || (await options.consent(step)));
    if (reason !== undefined || !isWanted) {
      reports.push(notDone(step, iso(context), reason ?? 'it was not wanted'));
      continue;
    }
    reports.push(await runStep(step, context));
  }
  return {
    format: 'ichor-lane/1',
    startedAt,
    endedAt: iso(context),
    outcome: outcomeOf(reports),
    ichor: options.ichorVersion,
    machines: context.machines.map(({ name, role, talos, kubelet }) => ({ name, role, talos, kubelet })),
    steps: reports,
  };
}

function outcomeOf(reports: readonly StepReport[]): LaneReport['outcome'] {
  if (reports.some((report) => report.outcome === 'failed')) return 'failed';
  return reports.some((report) => report.outcome === 'not-done') ? 'incomplete' : 'passed';
}

function whyNot(step: Step, reports: readonly StepReport[]): string | undefined {
  const outcomes = new Map<string, Outcome>(reports.map((report) => [report.id, report.outcome]));
  const failed = reports.find((report) => report.outcome === 'failed');
  if (step.disturbs !== undefined && failed !== undefined) {
    return `the step ${failed.id} failed; the cluster is left as it is`;
  }
  // What a failed step left is still there to be looked at.
  const missing = (step.needs ?? []).find((id) => (outcomes.get(id) ?? 'not-done') === 'not-done');
  return missing === undefined ? undefined : `the step ${missing} was not done`;
}

function notDone(step: Step, at: string, why: string): StepReport {
  const { id, title, stands } = step;
  return { id, title, stands, outcome: 'not-done', why, startedAt: at, tookMs: 0, checks: [], figures: {} };
}

async function runStep(step: Step, context: LaneContext): Promise<StepReport> {
  const { id, title, stands } = step;
  const { clock } = context;
  const [startedAt, begun] = [iso(context), clock.monotonic()];
  context.say(`${id}: ${title}`);
  const checks = createChecks(({ what, ok, found }) => context.say(`  ${ok ? 'ok  ' : 'FAIL'} ${what} (${found})`));
  let why: string | undefined;
  let outcome: Outcome = 'passed';
  try {
    await step.run(context, checks);
    if (checks.list.some((check) => !check.ok)) outcome = 'failed';
  } catch (error) {
    outcome = error instanceof NotDone && checks.list.every((check) => check.ok) ? 'not-done' : 'failed';
    why = messageOf(error);
    context.say(`  ${outcome}: ${why}`);
  }
  const tookMs = Math.round(clock.monotonic() - begun);
  const { list, figures } = checks;
  return {
    id,
    title,
    stands,
    outcome,
    ...(why === undefined ? {} : { why }),
    startedAt,
    tookMs,
    checks: list,
    figures,
  };
}

function iso({ clock }: LaneContext): string {
  return new Date(clock.now()).toISOString();
}

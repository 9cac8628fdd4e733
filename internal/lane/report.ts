import type { LaneReport, StepReport } from './model.ts';

const WORDS = { passed: 'passed', failed: 'FAILED', 'not-done': 'not done', incomplete: 'incomplete' } as const;

/** A report for people, in Markdown. */
export function reportText(report: LaneReport): string {
  const { machines, steps } = report;
  return [
    `# Verification on a cluster: ${WORDS[report.outcome]}`,
    '',
    `ichor ${report.ichor}, ${report.startedAt} to ${report.endedAt}.`,
    '',
    '| machine | role | Talos | kubelet |',
    '|---|---|---|---|',
    ...machines.map((each) => `| ${each.name} | ${each.role} | ${each.talos} | ${each.kubelet} |`),
    '',
    '| step | stands for | outcome | took |',
    '|---|---|---|---|',
    ...steps.map(
      (step) =>
        `| [${step.id}](#${step.id}) | ${step.stands.join('; ')} | ${WORDS[step.outcome]} | ${seconds(step.tookMs)} |`,
    ),
    ...steps.flatMap(stepText),
    '',
  ].join('\n');
}

function stepText(step: StepReport): string[] {
  const figures = Object.entries(step.figures);
  return [
    '',
    `## ${step.id}`,
    '',
    `${step.title}: ${WORDS[step.outcome]}${step.why === undefined ? '' : ` (${step.why})`}.`,
    ...(step.checks.length === 0
      ? []
      : [
          '',
          '| | expected | found |',
          '|---|---|---|',
          ...step.checks.map(({ ok, what, found }) => `| ${ok ? 'ok' : '**no**'} | ${cell(what)} | ${cell(found)} |`),
        ]),
    ...(figures.length === 0 ? [] : ['', ...figures.map(([name, value]) => `- ${name}: ${value}`)]),
  ];
}

/** A pipe would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(0)} s`;
}

/**
 * Refuses a text that holds key material, before it is written anywhere. Reports
 * are put where others read them; none of what the lane notes should ever be a
 * key, and this is what keeps it so.
 */
export function assertNoSecrets(text: string, secrets: readonly string[]): void {
  const found =
    /PRIVATE KEY|AGE-SECRET-KEY/.test(text) || secrets.some((secret) => secret !== '' && text.includes(secret));
  if (found) throw new Error('the report would hold key material and was not written; please report this');
}

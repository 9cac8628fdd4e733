import type { Plan, PlanStage } from '../../rotation/plan.ts';
import { duration } from '../progress/render.ts';
import type { NamedPlan } from './plan.ts';

/** A plan for people: what happens in which order, what will not answer, what is checked, until when one can go back. */
export function planText(plan: NamedPlan): string {
  const { targets, controlPlanes, workers, stages, pointOfNoReturn } = plan;
  const hasHandoff = stages.some((stage) => stage.name === 'AwaitingCredentials');
  const without = [
    ...(hasHandoff ? ['you take for the hand-off'] : []),
    ...(stages.some((stage) => stage.aroundReboot !== undefined) ? ['the evacuation hook takes'] : []),
  ];
  return [
    `Plan: replace the ${targets.map(({ title }) => title).join(', the ')}`,
    `  control planes  ${controlPlanes.join(', ') || 'none'}`,
    `  workers         ${workers.join(', ') || 'none'}`,
    '',
    'Stages:',
    ...stages.filter((stage) => stage.name !== 'Pending').flatMap(stageLines),
    `About ${duration(plan.aboutMs)} in all${without.length === 0 ? '' : `, without the time that ${without.join(' and ')}`}.`,
    rebootText(plan),
    ...section(
      'Does not answer for a while:',
      plan.unavailable.map(
        ({ what, times, aboutMsEach }) =>
          `${what}: ${times} ${times === 1 ? 'time' : 'times'}, about ${duration(aboutMsEach)} each`,
      ),
    ),
    ...section('Know before:', plan.warnings),
    ...section(
      'Pods that have read the Kubernetes CA of now, to be restarted between Issuing and Dropping:',
      plan.podsToRestart.map(podsLine),
    ),
    ...section('Checked, and waited for, each time:', checkLines(plan.checks)),
    '',
    `Point of no return: ${pointOfNoReturn.stage} (${pointOfNoReturn.why}). Until then ichor operation delete abandons the rotation.`,
  ].join('\n');
}

function stageLines(stage: PlanStage): string[] {
  const about = stage.aboutMs === undefined ? 'until you take the new credentials' : `about ${duration(stage.aboutMs)}`;
  return [
    `  ${stage.name}: ${stage.summary} (${about})`,
    ...(stage.toldFirst === undefined
      ? []
      : [
          `    told first, of the ${stage.toldFirst.titles.join(' and the ')} alone: ${orderText(stage.toldFirst.machines)}`,
        ]),
    ...(stage.told.length === 0
      ? []
      : [
          `    told in this order: ${orderText(stage.told)}${stage.last === undefined ? '' : `; of control planes last: ${stage.last}`}`,
        ]),
    ...(stage.reboots.length === 0
      ? []
      : [
          `    then rebooted one at a time: ${stage.reboots.join(', ')}${stage.rebootsSkippable ? ' (each only where it does not serve the new certificate by itself)' : ''}`,
        ]),
    ...(stage.aroundReboot === undefined ? [] : [`    each: ${stage.aroundReboot.join(', ')}`]),
    ...stage.waits.map((wait) => `    waits until ${wait}`),
  ];
}

function orderText(machines: readonly (readonly string[])[]): string {
  return machines.map((batch) => batch.join(' + ')).join(', ');
}

function rebootText({ reboots: { atLeast, atMost } }: Plan): string {
  if (atMost === 0) return 'No machine is rebooted.';
  return atLeast === atMost
    ? `${atMost} reboots of control planes; workers are not rebooted.`
    : `${atLeast} to ${atMost} reboots of control planes; workers are not rebooted.`;
}

const WHEN: readonly (readonly [keyof Plan['checks'], string])[] = [
  ['start', 'the start'],
  ['change', 'each machine'],
  ['reboot', 'each reboot'],
  ['stage', 'the end of each stage'],
];

/** Every check once, with when it is asked. */
function checkLines(checks: Plan['checks']): string[] {
  const all = [...new Set(WHEN.flatMap(([when]) => checks[when]))];
  return all.map((check) => {
    const times = WHEN.filter(([when]) => checks[when].includes(check)).map(([, words]) => words);
    return `${check} (before ${times.join(', ')})`;
  });
}

/** As many pods of one owner as people read; programs get all of them. */
const NAMED_PODS = 5;

function podsLine({ owner, pods, restartable }: NamedPlan['podsToRestart'][number]): string {
  const more = pods.length - NAMED_PODS;
  const names = `${pods.slice(0, NAMED_PODS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `${owner}: ${names}${restartable ? '' : ' (no rollout reaches them: replace them yourself)'}`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  - ${line}`)];
}

import { CA_STAGES, type TalosOperation } from '../../api/v1alpha1/index.ts';
import type { Decision } from './decision.ts';
import { explain } from './explain.ts';
import type { Observation } from './observation.ts';

/** What one look came to. */
interface Look {
  readonly operation: TalosOperation;
  readonly decision: Decision;
  readonly observation: Observation;
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * A look as metrics, in the text format of Prometheus: the same account of the decision that
 * {@link explain} gives to people. Names of the operation and of stages alone, nothing of keys.
 */
export function metricsOf({ operation, decision, observation }: Look): string {
  const { metadata, status } = operation;
  const { state, reason, needsSomebody } = explain(operation, decision);
  const labels = { operation: metadata.name };
  const { stageStartedAt, etcdRebooting } = status.caRotation;
  const unknown = observation.machines.filter((machine) => !machine.talos.known).length;
  return [
    gauge('info', 'What the operation is doing.', [
      { labels: { ...labels, stage: status.stage, phase: status.phase, state, reason }, value: 1 },
    ]),
    gauge('stage', `The stage as a number: ${CA_STAGES.map((stage, index) => `${index} ${stage}`).join(', ')}.`, [
      { labels, value: CA_STAGES.indexOf(status.stage) },
    ]),
    gauge('needs_somebody', 'Whether nothing goes on before a person does something.', [
      { labels, value: needsSomebody ? 1 : 0 },
    ]),
    gauge('rebooting', 'Whether a control plane is being rebooted.', [
      { labels, value: etcdRebooting === undefined ? 0 : 1 },
    ]),
    gauge('machines', 'Machines by whether their Talos API answered.', [
      { labels: { ...labels, answered: 'true' }, value: observation.machines.length - unknown },
      { labels: { ...labels, answered: 'false' }, value: unknown },
    ]),
    gauge(
      'stage_start_time_seconds',
      'When the stage began, seconds since the epoch.',
      stageStartedAt === undefined ? [] : [{ labels, value: Date.parse(stageStartedAt) / 1_000 }],
    ),
    gauge('last_look_time_seconds', 'When the cluster was looked at last, seconds since the epoch.', [
      { labels, value: observation.now / 1_000 },
    ]),
  ].join('');
}

function gauge(name: string, help: string, samples: readonly Sample[]): string {
  const full = `ichor_operation_${name}`;
  const lines = samples.map(({ labels, value }) => `${full}{${labelsText(labels)}} ${value}\n`);
  return lines.length === 0 ? '' : `# HELP ${full} ${help}\n# TYPE ${full} gauge\n${lines.join('')}`;
}

function labelsText(labels: Sample['labels']): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',');
}

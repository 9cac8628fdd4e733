import type { EvacuationStatus, TalosOperation } from '../../../api/v1alpha1/index.ts';
import type { Invocation } from '../command.ts';
import type { ExitName } from '../exit-codes.ts';
import { openCluster } from '../open-cluster.ts';
import { findOperation } from '../operations.ts';

/** `ichor operation get` */
export async function getOperation(invocation: Invocation): Promise<ExitName> {
  await using cluster = await openCluster(invocation, { bundle: false });
  const operation = await findOperation(cluster.store, invocation.argument);
  const { reason, message } = operation.status;
  const text = [...factsOf(operation), `reason      ${reason}`, `message     ${message}`];
  await invocation.output.result(operation, text.join('\n'));
  return 'ok';
}

/** The facts of an operation, one line each; why it stands where it stands is not among them. */
export function factsOf({ metadata, spec, status }: TalosOperation): string[] {
  const { caRotation } = status;
  return [
    `operation   ${metadata.name} (uid ${metadata.uid})`,
    `phase       ${status.phase}${spec.paused && status.phase !== 'Paused' ? ', paused' : ''}${metadata.deletionTimestamp === undefined ? '' : ', being deleted'}`,
    `stage       ${status.stage}${caRotation.stageStartedAt === undefined ? '' : ` since ${caRotation.stageStartedAt}`}`,
    ...caRotation.certificates.map(
      (each) => `CA          ${each.name}: ${each.old.slice(0, 16)} -> ${each.new.slice(0, 16)}`,
    ),
    ...(caRotation.etcdRebooting === undefined ? [] : [`rebooting   ${caRotation.etcdRebooting}`]),
    ...(caRotation.etcdDraining === undefined ? [] : [`draining    ${caRotation.etcdDraining}`]),
    ...(spec.evacuationHook === undefined ? [] : [`hook        ${spec.evacuationHook}, around each reboot`]),
    ...(caRotation.evacuation === undefined ? [] : [`evacuation  ${evacuationText(caRotation.evacuation)}`]),
    `created     ${metadata.creationTimestamp}`,
    ...(status.completedAt === undefined ? [] : [`completed   ${status.completedAt}`]),
  ];
}

/** `cp1: evacuate since …: NotYet, exit code 75` */
function evacuationText({ machine, call, since, answer }: EvacuationStatus): string {
  const said = answer === undefined ? 'no answer yet' : `${answer.outcome}, ${answer.found}`;
  return `${machine}: ${call} since ${since}: ${said}`;
}

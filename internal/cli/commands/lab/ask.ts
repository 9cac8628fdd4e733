import { askLab, type FaultInForce, LAB_FAULTS, type LabStatus } from '../../../lab/index.ts';
import { CliError } from '../../cli-error.ts';
import { flag, type Invocation } from '../../command.ts';
import type { ExitName } from '../../exit-codes.ts';
import { textTable } from '../../text-table.ts';
import { labDirectory } from './lab-of.ts';
import { faultText, statusText } from './lab-text.ts';

/** `ichor lab status` */
export async function status(invocation: Invocation): Promise<ExitName> {
  const found = await askLab<LabStatus>(labDirectory(invocation, invocation.argument), { do: 'status' });
  await invocation.output.result(found, statusText(found));
  return 'ok';
}

/** `ichor lab reboot` */
export async function reboot(invocation: Invocation): Promise<ExitName> {
  const { argument: machine = '', output } = invocation;
  const found = await askLab<LabStatus>(labDirectory(invocation), { do: 'reboot', machine });
  await output.result(found, `${machine} reboots`);
  return 'ok';
}

/** `ichor lab break` */
export async function breakIt(invocation: Invocation): Promise<ExitName> {
  const { argument: fault, secondArgument: machine, options, output } = invocation;
  if (flag(options, 'list')) {
    const faults = LAB_FAULTS.map(({ name, concerns, summary, end }) => ({
      name,
      concerns,
      summary,
      lasts: end !== undefined,
    }));
    const rows = faults.map(({ name, concerns, summary }) => [name, concerns, summary]);
    await output.result(faults, textTable([['FAULT', 'CONCERNS', 'WHAT HAPPENS'], ...rows]));
    return 'ok';
  }
  if (fault === undefined) throw new CliError('usage', 'name a fault', 'ichor lab break --list shows all of them.');
  const found = await askLab<LabStatus>(labDirectory(invocation), {
    do: 'break',
    fault,
    ...(machine === undefined ? {} : { machine }),
  });
  const where = machine === undefined ? '' : ` on ${machine}`;
  const lasts = found.faults.some((each) => each.fault === fault && each.machine === machine);
  const until = lasts ? `; until ichor lab mend ${[fault, machine].filter(Boolean).join(' ')}` : '';
  await output.result(found, `${fault}${where}${until}`);
  return 'ok';
}

/** `ichor lab mend` */
export async function mend(invocation: Invocation): Promise<ExitName> {
  const { argument: fault, secondArgument: machine, output } = invocation;
  const { ended } = await askLab<{ readonly ended: readonly FaultInForce[] }>(labDirectory(invocation), {
    do: 'mend',
    ...(fault === undefined ? {} : { fault }),
    ...(machine === undefined ? {} : { machine }),
  });
  const lines = ended.map((each) => `mended: ${faultText(each)}`);
  await output.result({ ended }, lines.join('\n') || 'nothing of that kind was broken');
  return 'ok';
}

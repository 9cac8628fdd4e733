import { type LogLine, readLogs } from '../../../lab/index.ts';
import { flag, type Invocation } from '../../command.ts';
import type { ExitName } from '../../exit-codes.ts';
import { labDirectory } from './lab-of.ts';

/** `ichor lab logs`: with `-o json`, one document a line, as they come. */
export async function logs(invocation: Invocation): Promise<ExitName> {
  const { argument: machine, options, environment, output } = invocation;
  const follow = flag(options, 'follow');
  const request = { ...(machine === undefined ? {} : { machine }), follow };
  const signal = follow ? environment.interrupted : undefined;
  const all: LogLine[] = [];
  for await (const line of readLogs(labDirectory(invocation), request, signal)) {
    if (output.format === 'text') environment.stdout.write(`${line.at} ${line.machine.padEnd(8)} ${line.line}\n`);
    else if (follow) environment.stdout.write(`${JSON.stringify(line)}\n`);
    else all.push(line);
  }
  if (!follow && output.format !== 'text') await output.result(all, '');
  return 'ok';
}

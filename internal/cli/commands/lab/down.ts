import { createSystemClock } from '../../../../pkg/clock/index.ts';
import { askLab, isReleased, LabError, type LabStatus, readLabRecord, releaseDirectory } from '../../../lab/index.ts';
import type { Invocation } from '../../command.ts';
import type { ExitName } from '../../exit-codes.ts';
import { labDirectory } from './lab-of.ts';

/** How long a lab may take to end. */
const END_MS = 15_000;

const LOOK_MS = 50;

/** `ichor lab down`: also tidies up after a lab whose process was killed. */
export async function down(invocation: Invocation): Promise<ExitName> {
  const { output } = invocation;
  const directory = labDirectory(invocation, invocation.argument);
  const found = await readLabRecord(directory);
  if (found?.isAlive === false) {
    await releaseDirectory(directory);
    await output.result(
      { directory, wasRunning: false },
      'the lab had ended without cleaning up; what it left is gone',
    );
    return 'ok';
  }
  await askLab<LabStatus>(directory, { do: 'down' });
  // The other process lives in real time, whatever clock ours has.
  const clock = createSystemClock();
  const until = clock.monotonic() + END_MS;
  while (found !== undefined && !(await isReleased(directory, found.record))) {
    if (clock.monotonic() > until) {
      throw new LabError(
        'refused',
        `the lab in ${directory} was asked to end and has not left it after ${END_MS / 1000} s`,
        `Where its process still runs, end it: kill ${found.record.process.pid}`,
      );
    }
    await clock.sleep(LOOK_MS);
  }
  await output.result({ directory, wasRunning: true }, `the lab in ${directory} has ended; nothing of it is left`);
  return 'ok';
}

import { lastLine } from '../ichor.ts';
import { type LaneContext, NotDone, type Power, type Step } from '../model.ts';
import { checkNoneUnderWay } from '../operations.ts';
import { checkWhole, planesOf } from '../rotate.ts';

/** How long a machine that was switched off may go on answering, ms. */
const OFF_WITHIN_MS = 5 * 60_000;

/** With one control plane off, an etcd rotation does not start, and leaves nothing behind. */
export const machineOff: Step = {
  id: 'machine-off',
  title: 'Switch one control plane off: the rotation refuses to start',
  stands: ['first list, 6'],
  disturbs: 'needs one control plane to be switched off, and on again',
  async run(context, checks) {
    const planes = planesOf(context);
    const machine = planes.at(-1);
    if (machine === undefined || planes.length < 3) {
      throw new NotDone(`with ${planes.length} control planes nothing would answer`);
    }
    const power = context.power ?? powerByHand(context);
    await power.off(machine.name);
    try {
      checks.that(`${machine.name} is off`, await isGone(context, machine), 'its Talos API does not answer');
      const started = await context.ichor.run(['cluster', 'rotate-ca', '--ca', 'etcd', '--yes']);
      checks.that(
        'ichor refuses to start',
        started.code === 4,
        `exit code ${started.code}: ${lastLine(started.output)}`,
      );
      checks.that('its message names the machine', started.output.includes(machine.name), lastLine(started.output));
      await checkNoneUnderWay(context, checks);
    } finally {
      await power.on(machine.name);
    }
    await checkWhole(context, checks);
  },
};

function powerByHand({ ask }: LaneContext): Power {
  if (ask === undefined) {
    throw new NotDone(
      'nobody is there to switch a machine off, and no command for it was given (--power-off, --power-on)',
    );
  }
  const wait = async (question: string): Promise<void> => {
    if (!(await ask(question))) throw new NotDone('it was not switched off');
  };
  return {
    off: (machine) => wait(`Switch ${machine} off now. Is it off?`),
    on: (machine) => wait(`Switch ${machine} on again. Is it on?`),
  };
}

async function isGone(
  { readings, clock }: LaneContext,
  machine: Parameters<typeof readings.bootId>[0],
): Promise<boolean> {
  const deadline = clock.monotonic() + OFF_WITHIN_MS;
  while (clock.monotonic() < deadline) {
    const answered = await readings.bootId(machine).then(
      () => true,
      () => false,
    );
    if (!answered) return true;
    await clock.sleep(1_000);
  }
  return false;
}

import { parseArgs } from 'node:util';
import { STEPS } from './steps/index.ts';

/** What the command line says. */
export interface LaneOptions {
  readonly directory: string;
  readonly yes: boolean;
  /** The steps to do; all unless named. */
  readonly only: readonly string[] | undefined;
  readonly reports: string | undefined;
  readonly identity: string | undefined;
  readonly ichor: string | undefined;
  readonly powerOff: string | undefined;
  readonly powerOn: string | undefined;
}

/** The help text. */
export const LANE_USAGE = `usage: npm run lane -- --dir DIR [OPTIONS]

Proves on a real cluster that its CAs can be rotated: rotates each of them, kills ichor meanwhile, abandons a
rotation, and writes a report (Markdown and JSON, without keys). DIR is a cluster directory with secrets.yaml and
talosconfig; the cluster needs an odd number of control planes. Use a cluster that you can spare: it is rebooted.

  --dir DIR            the cluster directory
  --yes                do not ask before each step that disturbs the cluster
  --only STEP,STEP     these steps alone; \`before\` is needed by most
  --reports DIR        where the report and an encrypted etcd snapshot go; DIR/lane-TIME unless given
  --identity FILE      age identity that opens an encrypted secrets.yaml (a passphrase: ICHOR_PASSPHRASE)
  --ichor FILE         the ichor to try; the one of this source unless given
  --power-off COMMAND  switches a machine off: run by sh, with the machine's name as $1
  --power-on COMMAND   switches it on again; without these two a person is asked

Steps:
${STEPS.map(({ id, title, disturbs }) => `  ${id.padEnd(12)} ${title}${disturbs === undefined ? '' : `\n${' '.repeat(15)}${disturbs}`}`).join('\n')}

Exit codes: 0 passed, 1 a check failed, 2 the command line is wrong, 3 some steps were not done.
`;

/** A command line that is wrong, with what is wrong about it. */
export class UsageError extends Error {}

/** Reads the command line; `help` where that was asked for. */
export function readOptions(argv: readonly string[]): LaneOptions | 'help' {
  const values = parsed(argv);
  if (values.help === true) return 'help';
  const only = values.only?.split(',').map((id) => id.trim());
  const unknown = only?.find((id) => !STEPS.some((step) => step.id === id));
  if (unknown !== undefined) {
    throw new UsageError(`there is no step "${unknown}"; there are: ${STEPS.map((step) => step.id).join(', ')}`);
  }
  if (values.dir === undefined) throw new UsageError('--dir names no cluster directory');
  if ((values['power-off'] === undefined) !== (values['power-on'] === undefined)) {
    throw new UsageError('--power-off and --power-on are given together or not at all');
  }
  return {
    directory: values.dir,
    yes: values.yes === true,
    only,
    reports: values.reports,
    identity: values.identity,
    ichor: values.ichor,
    powerOff: values['power-off'],
    powerOn: values['power-on'],
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        dir: { type: 'string' },
        yes: { type: 'boolean' },
        only: { type: 'string' },
        reports: { type: 'string' },
        identity: { type: 'string' },
        ichor: { type: 'string' },
        'power-off': { type: 'string' },
        'power-on': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

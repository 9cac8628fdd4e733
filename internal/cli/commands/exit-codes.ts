import { type Command, OUTPUT_OPTION } from '../command.ts';
import { EXIT_CODES, exitCodeTable } from '../exit-codes.ts';

/** `ichor exit-codes`, also found as `ichor help exit-codes` */
export const exitCodes: Command = {
  path: ['exit-codes'],
  summary: 'list the exit codes',
  options: [OUTPUT_OPTION],
  async run({ output }) {
    const exitCodes = Object.entries(EXIT_CODES).map(([name, { code, meaning }]) => ({ name, code, meaning }));
    await output.result({ exitCodes }, exitCodeTable());
    return 'ok';
  },
};

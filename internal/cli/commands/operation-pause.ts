import { BUNDLE_OPTIONS, type Command, DIRECTORY_OPTION, OUTPUT_OPTION } from '../command.ts';

/** `ichor operation pause` */
export const operationPause: Command = {
  path: ['operation', 'pause'],
  summary: 'pause an operation: nothing more is sent to any machine',
  details: 'A reboot that was asked for already is still waited for.',
  argument: { name: '[NAME]', summary: 'the operation; by default the one under way' },
  options: [DIRECTORY_OPTION, ...BUNDLE_OPTIONS, OUTPUT_OPTION],
  async run(invocation) {
    const { setPaused } = await import('../operation/pause.ts');
    return setPaused(invocation, true);
  },
};

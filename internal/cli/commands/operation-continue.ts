import {
  BUNDLE_OPTIONS,
  type Command,
  DIRECTORY_OPTION,
  EVACUATION_HOOK_OPTION,
  OUTPUT_OPTION,
  UNREACHABLE_OPTION,
} from '../command.ts';

/** `ichor operation continue` */
export const operationContinue: Command = {
  path: ['operation', 'continue'],
  summary:
    'let an operation go on that is paused, or that holds for endpoints nobody here can reach or for its evacuation hook',
  details: 'The process that runs it goes on by itself; where none runs, ichor cluster rotate-ca takes it up.',
  argument: { name: '[NAME]', summary: 'the operation; by default the one under way' },
  options: [DIRECTORY_OPTION, UNREACHABLE_OPTION, EVACUATION_HOOK_OPTION, ...BUNDLE_OPTIONS, OUTPUT_OPTION],
  async run(invocation) {
    const { setPaused } = await import('../operation/pause.ts');
    return setPaused(invocation, false);
  },
};

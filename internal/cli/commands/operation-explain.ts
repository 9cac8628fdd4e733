import { BUNDLE_OPTIONS, type Command, DIRECTORY_OPTION, OUTPUT_OPTION } from '../command.ts';

/** `ichor operation explain` */
export const operationExplain: Command = {
  path: ['operation', 'explain'],
  summary: 'say why an operation stands where it stands, and what to do about it',
  argument: { name: '[NAME]', summary: 'the operation; by default the one under way, else the newest' },
  options: [
    DIRECTORY_OPTION,
    { flags: '--stored', summary: 'show what is stored alone; do not look at the cluster' },
    ...BUNDLE_OPTIONS,
    OUTPUT_OPTION,
  ],
  async run(invocation) {
    const { explainOperation } = await import('../operation/explain.ts');
    return explainOperation(invocation);
  },
};

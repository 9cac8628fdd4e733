import { BUNDLE_OPTIONS, type Command, DIRECTORY_OPTION, OUTPUT_OPTION } from '../command.ts';

/** `ichor operation get` */
export const operationGet: Command = {
  path: ['operation', 'get'],
  summary: 'show one operation',
  argument: { name: '[NAME]', summary: 'the operation; by default the one under way, else the newest' },
  options: [DIRECTORY_OPTION, ...BUNDLE_OPTIONS, OUTPUT_OPTION],
  async run(invocation) {
    const { getOperation } = await import('../operation/get.ts');
    return getOperation(invocation);
  },
};

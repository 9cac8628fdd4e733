import { BUNDLE_OPTIONS, type Command, DIRECTORY_OPTION, OUTPUT_OPTION } from '../command.ts';

/** `ichor operation list` */
export const operationList: Command = {
  path: ['operation', 'list'],
  summary: 'list the operations of a cluster',
  options: [DIRECTORY_OPTION, ...BUNDLE_OPTIONS, OUTPUT_OPTION],
  async run(invocation) {
    const { listOperations } = await import('../operation/list.ts');
    return listOperations(invocation);
  },
};

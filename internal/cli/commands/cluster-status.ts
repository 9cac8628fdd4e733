import { BUNDLE_OPTIONS, type Command, DIRECTORY_OPTION, OUTPUT_OPTION } from '../command.ts';

/** `ichor cluster status` */
export const clusterStatus: Command = {
  path: ['cluster', 'status'],
  summary: 'show certificate authorities, machines, drift and the running operation',
  argument: { name: '[NAME]', summary: 'the name of the cluster; checked against what the machines say' },
  options: [DIRECTORY_OPTION, ...BUNDLE_OPTIONS, OUTPUT_OPTION],
  async run(invocation) {
    const { showStatus } = await import('../status/status.ts');
    return showStatus(invocation);
  },
};

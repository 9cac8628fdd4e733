import { BUNDLE_OPTIONS, type Command, DIRECTORY_OPTION, OUTPUT_OPTION } from '../command.ts';

/** `ichor cluster bundle-export` */
export const clusterBundleExport: Command = {
  path: ['cluster', 'bundle-export'],
  summary: 'write a copy of the bundle into a file',
  details: 'Keys are never printed: a file has to be named. It is readable by its owner only.',
  argument: { name: '[NAME]', summary: 'the cluster, where it is a directory below this one' },
  options: [
    DIRECTORY_OPTION,
    { flags: '--to <file>', summary: 'the file to write (required)', completes: 'file' },
    { flags: '--recipient <keys>', summary: 'encrypt it for these age public keys, separated by commas', isList: true },
    { flags: '--force', summary: 'replace a file that is there' },
    ...BUNDLE_OPTIONS,
    OUTPUT_OPTION,
  ],
  async run(invocation) {
    const { exportBundle } = await import('../import/export-bundle.ts');
    return exportBundle(invocation);
  },
};

import { BUNDLE_OPTIONS, type Command, OUTPUT_OPTION } from '../command.ts';

/** `ichor cluster import` */
export const clusterImport: Command = {
  path: ['cluster', 'import'],
  summary: 'make a cluster directory from secrets.yaml and talosconfig, or from a talosconfig alone',
  details: `With --secrets, the file is compared with a control plane before anything is written.
Without it, the bundle is read from the configuration of a control plane, which needs
the role os:admin. secrets.yaml is never made anew for a cluster that exists.`,
  argument: { name: '[NAME]', summary: 'the cluster, and the directory to make where --dir is not given' },
  options: [
    { flags: '--dir <directory>', summary: 'the cluster directory to make', completes: 'directory' },
    {
      flags: '--secrets <file>',
      summary: 'secrets.yaml of talosctl, talhelper or Terraform, plain or age',
      completes: 'file',
    },
    { flags: '--talosconfig <file>', summary: 'talosconfig to read (default: ~/.talos/config)', completes: 'file' },
    { flags: '--context <name>', summary: 'context of the talosconfig (default: the selected one)' },
    {
      flags: '--recipient <keys>',
      summary: 'encrypt the bundle for these age public keys, separated by commas',
      isList: true,
    },
    { flags: '--offline', summary: 'do not compare --secrets, nor NAME, with a control plane' },
    ...BUNDLE_OPTIONS,
    OUTPUT_OPTION,
  ],
  async run(invocation) {
    const { importCluster } = await import('../import/import-cluster.ts');
    return importCluster(invocation);
  },
};

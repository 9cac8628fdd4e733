import { BUNDLE_OPTIONS, type Command, DIRECTORY_OPTION, OUTPUT_OPTION } from '../command.ts';

/** `ichor cluster credentials` */
export const clusterCredentials: Command = {
  path: ['cluster', 'credentials'],
  summary: 'take the new talosconfig and kubeconfig of a rotation, or renew the ones in the directory',
  details: `During a rotation: writes talosconfig.new and kubeconfig.new, after every control plane
answered to them. With --acknowledge they come into use and the rotation goes on.
Otherwise: makes what is missing, renews what expires within 30 days from the CA in
secrets.yaml. No certificate authority changes by it.`,
  argument: { name: '[NAME]', summary: 'the name of the cluster; checked against what the machines say' },
  options: [
    DIRECTORY_OPTION,
    { flags: '--acknowledge', summary: 'take the new credentials into use and let the rotation go on' },
    { flags: '--merge', summary: 'also put them into ~/.talos/config and ~/.kube/config' },
    {
      flags: '--endpoint <addresses>',
      summary: 'control planes to ask where there is no talosconfig, separated by commas',
      isList: true,
    },
    ...BUNDLE_OPTIONS,
    OUTPUT_OPTION,
  ],
  async run(invocation) {
    const { showCredentials } = await import('../handoff/credentials-command.ts');
    return showCredentials(invocation);
  },
};

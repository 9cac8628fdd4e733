import {
  BUNDLE_OPTIONS,
  type Command,
  DIRECTORY_OPTION,
  OUTPUT_OPTION,
  RECIPIENT_OPTION,
  TAKE_OVER_OPTION,
} from '../command.ts';

/** `ichor operation delete` */
export const operationDelete: Command = {
  path: ['operation', 'delete'],
  summary: 'abandon a rotation before its point of no return, or remove one that is over',
  details: `Abandoning takes the new certificate authorities back from every machine, removes
their record and lets pods back onto a machine that was being rebooted; the old
certificate authorities stay. A machine that does not answer is waited for: five
minutes, or, where it may issue with the new ones, until it answers or is removed.
It is refused once the old ones cannot be gone back to: in Issuing with the Kubernetes
or the etcd CA among the targets, in Dropping and in Finalizing.`,
  argument: { name: '[NAME]', summary: 'the operation; by default the one under way, else the newest' },
  options: [
    DIRECTORY_OPTION,
    { flags: '-y, --yes', summary: 'do not ask' },
    TAKE_OVER_OPTION,
    ...BUNDLE_OPTIONS,
    RECIPIENT_OPTION,
    OUTPUT_OPTION,
  ],
  async run(invocation) {
    const { deleteOperation } = await import('../operation/delete.ts');
    return deleteOperation(invocation);
  },
};

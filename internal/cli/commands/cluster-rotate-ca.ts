import type { CaTarget } from '../../../api/v1alpha1/index.ts';
import {
  BUNDLE_OPTIONS,
  type Command,
  DIRECTORY_OPTION,
  EVACUATION_HOOK_OPTION,
  OUTPUT_OPTION,
  RECIPIENT_OPTION,
  TAKE_OVER_OPTION,
  UNREACHABLE_OPTION,
} from '../command.ts';

/** Written out: to import them would load the whole API to print a help. A test holds the two together. */
const TARGETS: readonly CaTarget[] = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'];

/** `ichor cluster rotate-ca` */
export const clusterRotateCa: Command = {
  path: ['cluster', 'rotate-ca'],
  summary: 'replace certificate authorities of a cluster while it serves',
  details: `Without --ca, the Talos and the Kubernetes API CA are replaced. A plan is shown first.
The etcd CA reboots every control plane, one at a time: once after the new CA is
trusted, once after the old one is dropped, and in between only where a control
plane does not serve the new certificate by itself. Workers are not rebooted.

Run it again to go on with a rotation that was interrupted: the same new CAs are used.
Its options stay as they were, except those that are given again.
Take an etcd snapshot first (talosctl etcd snapshot).`,
  argument: { name: '[NAME]', summary: 'the name of the cluster; checked against what the machines say' },
  options: [
    {
      flags: '--ca <targets>',
      summary: `what to replace, separated by commas: ${TARGETS.join(', ')}`,
      isList: true,
      listOf: TARGETS,
    },
    { flags: '--all', summary: 'replace all four' },
    DIRECTORY_OPTION,
    { flags: '-y, --yes', summary: 'do not ask before starting' },
    { flags: '--follow', summary: 'stay until the end; with --yes the new credentials are taken without asking' },
    {
      flags: '--dry-run',
      summary:
        'read everything, have every machine and an API server check what they would be asked for, change nothing',
    },
    {
      flags: '--restart-workloads',
      summary: 'restart workloads that started with the old Kubernetes CA, a few at a time',
    },
    {
      flags: '--previous-bundle <choice>',
      summary: 'what becomes of the old secrets.yaml at the end (default: archive)',
      choices: ['archive', 'remove'],
    },
    {
      flags: '--settle <duration>',
      summary:
        'for rehearsals: watch what must settle for so long (1s to 120s) and not for two minutes; give it again when going on',
    },
    { ...UNREACHABLE_OPTION, summary: `${UNREACHABLE_OPTION.summary} (default: hold)` },
    EVACUATION_HOOK_OPTION,
    TAKE_OVER_OPTION,
    ...BUNDLE_OPTIONS,
    RECIPIENT_OPTION,
    { flags: '--log <file>', summary: 'append a log of JSON lines', completes: 'file' },
    {
      flags: '--metrics-file <file>',
      summary: 'keep metrics of the operation here, as a textfile collector of Prometheus reads them',
      completes: 'file',
    },
    OUTPUT_OPTION,
  ],
  async run(invocation) {
    const { rotateCa } = await import('../rotate/rotate-ca.ts');
    return rotateCa(invocation);
  },
};

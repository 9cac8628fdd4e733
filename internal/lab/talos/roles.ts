import type { Certificate } from '../../../pkg/pki/index.ts';

/** Who may call what: the table of `internal/app/machined/pkg/system/services/machined.go`. Methods that it does not name need os:admin. */

const ADMIN = 'os:admin';
const OPERATOR = 'os:operator';
const READER = 'os:reader';
const BACKUP = 'os:etcd:backup';
/** May pass on the roles of somebody else: an apid that proxies. */
export const IMPERSONATOR = 'os:impersonator';

const MACHINE = '/machine.MachineService/';
const STATE = '/cosi.resource.State/';

const RULES: readonly { readonly roles: readonly string[]; readonly methods: readonly string[] }[] = [
  {
    roles: [ADMIN, OPERATOR, READER],
    methods: [
      ...[
        ...['CPUInfo', 'Containers', 'DiskStats', 'DiskUsage', 'Dmesg', 'Events', 'Hostname', 'List', 'LoadAvg'],
        ...['Logs', 'LogsContainers', 'Memory', 'Mounts', 'Netstat', 'NetworkDeviceStats', 'Processes'],
        ...['ServiceList', 'Stats', 'SystemStat', 'Version'],
      ].map((name) => MACHINE + name),
      ...['Get', 'List', 'Watch'].map((name) => STATE + name),
      ...['/cluster.ClusterService/HealthCheck', '/time.TimeService/Time', '/time.TimeService/TimeCheck'],
    ],
  },
  {
    roles: [ADMIN, OPERATOR, READER, BACKUP],
    methods: ['EtcdAlarmList', 'EtcdMemberList', 'EtcdStatus'].map((name) => MACHINE + name),
  },
  { roles: [ADMIN, OPERATOR, BACKUP], methods: [`${MACHINE}EtcdSnapshot`] },
  {
    roles: [ADMIN, OPERATOR],
    methods: [
      ...['EtcdAlarmDisarm', 'EtcdDefragment', 'Reboot', 'Restart', 'ServiceRestart', 'ServiceStart', 'ServiceStop'],
    ].map((name) => MACHINE + name),
  },
];

/** Whether one of the roles is enough for a method. */
export function mayCall(roles: readonly string[], path: string): boolean {
  const allowed = RULES.find(({ methods }) => methods.includes(path))?.roles ?? [ADMIN];
  return roles.some((role) => allowed.includes(role));
}

/** Whether one of the roles may see resources that hold keys. */
export function maySeeSecrets(roles: readonly string[]): boolean {
  return roles.includes(ADMIN);
}

/** Whether one of the roles may see any resource. */
export function maySee(roles: readonly string[]): boolean {
  return roles.some((role) => [ADMIN, OPERATOR, READER].includes(role));
}

/** The roles in a client certificate: every organization of its subject, several in one attribute set as Go writes them. */
export function rolesOf(certificate: Certificate): readonly string[] {
  return certificate.subject
    .split(/,\s*|\s+\+\s+/)
    .filter((part) => part.startsWith('O='))
    .map((part) => part.slice(2).trim())
    .filter((role) => role !== '');
}

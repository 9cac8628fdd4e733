import { FAULT_NAMES } from '../../../lab/fault-names.ts';
import { type Command, type OptionSpec, OUTPUT_OPTION } from '../../command.ts';

const LAB_DIRECTORY: OptionSpec = {
  flags: '--dir <directory>',
  summary: "the lab's directory (default: this directory)",
  completes: 'directory',
};

const labUp: Command = {
  path: ['lab', 'up'],
  summary: 'start a cluster on this computer: Talos, Kubernetes and etcd ports on loopback addresses',
  details: `The machines are simulated; their APIs, certificates and handshakes are real. The
directory gets secrets.yaml, talosconfig and kubeconfig: ichor, talosctl and kubectl
work on it as on any cluster. It is new or empty, and is cleaned when the lab ends:
with ichor lab down, with Ctrl-C under --foreground, or when it is removed.

A rehearsal (--from) takes the secrets.yaml and the machine configurations (any
*.yaml that is one) of a directory, or a secrets.yaml alone. They are copied, and
the cluster's endpoint in them is replaced. Nothing is sent to the real cluster.`,
  argument: { name: '<DIR>', summary: "the lab's directory", completes: 'directory' },
  options: [
    { flags: '--control-planes <number>', summary: 'control planes (default: 3, or as many as --from has)' },
    { flags: '--workers <number>', summary: 'workers (default: 1, or as many as --from has)' },
    { flags: '--talos <version>', summary: 'version of Talos, 1.9 to 1.14', default: '1.14' },
    {
      flags: '--boot-seconds <seconds>',
      summary: 'how long a machine boots; everything else keeps its proportion (13 is the real pace)',
      default: '5',
    },
    {
      flags: '--from <path>',
      summary: 'rehearse on the secrets and configurations of this directory, or of this secrets.yaml',
      completes: 'directory',
    },
    {
      flags: '--replace-keys',
      summary: 'with --from: put new keys, certificates and tokens in the place of the real ones',
    },
    {
      flags: '--identity <file>',
      summary: 'with --from: age identity that opens an encrypted secrets.yaml; or ICHOR_PASSPHRASE',
      completes: 'file',
    },
    { flags: '--foreground', summary: 'serve it in this process, until Ctrl-C' },
    OUTPUT_OPTION,
  ],
  async run(invocation) {
    const { labUp: up } = await import('./up.ts');
    return up(invocation);
  },
};

const labStatus: Command = {
  path: ['lab', 'status'],
  summary: 'show the machines of a lab, and what is broken',
  argument: { name: '[DIR]', summary: "the lab's directory", completes: 'directory' },
  options: [LAB_DIRECTORY, OUTPUT_OPTION],
  async run(invocation) {
    const { status } = await import('./ask.ts');
    return status(invocation);
  },
};

const labDown: Command = {
  path: ['lab', 'down'],
  summary: 'end a lab, and remove everything of it',
  argument: { name: '[DIR]', summary: "the lab's directory", completes: 'directory' },
  options: [LAB_DIRECTORY, OUTPUT_OPTION],
  async run(invocation) {
    const { down } = await import('./down.ts');
    return down(invocation);
  },
};

const labReboot: Command = {
  path: ['lab', 'reboot'],
  summary: 'reboot a machine of a lab, as somebody else would',
  argument: { name: '<MACHINE>', summary: 'the name of the machine' },
  options: [LAB_DIRECTORY, OUTPUT_OPTION],
  async run(invocation) {
    const { reboot } = await import('./ask.ts');
    return reboot(invocation);
  },
};

const labLogs: Command = {
  path: ['lab', 'logs'],
  summary: 'show what happened to a machine of a lab, or to all of them',
  argument: { name: '[MACHINE]', summary: 'the name of the machine, or cluster' },
  options: [LAB_DIRECTORY, { flags: '--follow', summary: 'stay, and show what happens' }, OUTPUT_OPTION],
  async run(invocation) {
    const { logs } = await import('./logs.ts');
    return logs(invocation);
  },
};

const labBreak: Command = {
  path: ['lab', 'break'],
  summary: 'break something in a lab',
  details: 'ichor lab break --list shows every fault. It stays until ichor lab mend.',
  argument: { name: '[FAULT]', summary: 'the fault, as --list names it', words: FAULT_NAMES },
  secondArgument: { name: '[MACHINE]', summary: 'the machine, where the fault concerns one' },
  options: [{ flags: '--list', summary: 'list the faults' }, LAB_DIRECTORY, OUTPUT_OPTION],
  async run(invocation) {
    const { breakIt } = await import('./ask.ts');
    return breakIt(invocation);
  },
};

const labMend: Command = {
  path: ['lab', 'mend'],
  summary: 'mend what was broken in a lab: everything, one fault, or one fault of one machine',
  argument: { name: '[FAULT]', summary: 'the fault', words: FAULT_NAMES },
  secondArgument: { name: '[MACHINE]', summary: 'the machine' },
  options: [LAB_DIRECTORY, OUTPUT_OPTION],
  async run(invocation) {
    const { mend } = await import('./ask.ts');
    return mend(invocation);
  },
};

const labShell: Command = {
  path: ['lab', 'shell'],
  summary: 'a shell in which talosctl, kubectl and ichor work on the lab',
  argument: { name: '[DIR]', summary: "the lab's directory", completes: 'directory' },
  options: [LAB_DIRECTORY],
  async run(invocation) {
    const { shell } = await import('./shell.ts');
    return shell(invocation);
  },
};

/** The commands of the lab, in the order of the help. */
export const LAB_COMMANDS: readonly Command[] = [
  labUp,
  labStatus,
  labDown,
  labReboot,
  labLogs,
  labBreak,
  labMend,
  labShell,
];

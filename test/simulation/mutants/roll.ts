import { brisk, edit, type Mutant } from './mutant.ts';

const ROLL = 'internal/rotation/roll.ts';
const REBOOTING = 'internal/rotation/rebooting.ts';
const GATES = 'internal/rotation/gates';
const ETCD = ['etcd'] as const;
const plain = brisk('3+0', ETCD);
const DAY_MS = 86_400_000;
/** Moments of a short roll of three control planes. */
const MOMENTS = [1_000, 6_000, 12_000, 20_000, 30_000];

/** Cordon, drain, marker, reboot, and what is asked around them. */
export const ROLL_MUTANTS: readonly Mutant[] = [
  {
    name: 'a machine is not drained before its reboot',
    row: 'P16 S11',
    edits: [
      edit(ROLL, 'return drain(context, name) ?? forfeit(context, machine);', 'return forfeit(context, machine);'),
    ],
    scenarios: [plain],
  },
  {
    name: 'a machine is not cordoned before its reboot',
    row: 'P16 S11 cordon',
    edits: [edit(ROLL, 'if (node !== undefined && !node.cordoned) {', 'if (node?.name === "nobody") {')],
    scenarios: [plain],
  },
  {
    name: 'a reboot that takes a moment is asked for again at once',
    row: 'A6 E8 S13 P13',
    edits: [edit('internal/rotation/context.ts', 'rebootRetryMs: 300_000', 'rebootRetryMs: 0')],
    scenarios: [plain],
  },
  {
    name: 'an alarm of etcd does not hold a reboot',
    row: 'G2 S3',
    edits: [edit(`${GATES}/etcd-is-whole.ts`, 'if (alarms.length > 0)', 'if (alarms.length > 99)')],
    scenarios: MOMENTS.map((at) => brisk('3+0', ETCD, { happenings: [{ at, what: 'alarm', forMs: 60_000 }] })),
  },
  {
    name: 'a learner counts as a voter',
    row: 'G3 P09',
    edits: [
      edit(`${GATES}/etcd-is-whole.ts`, 'if (learner !== undefined)', 'if (learner?.id === "nobody")'),
      edit(`${GATES}/etcd-is-whole.ts`, 'if (members.length !== ids.length) {', 'if (members.length < ids.length) {'),
      edit(
        `${GATES}/etcd-is-whole.ts`,
        'const stranger = members.find((member) => !ids.includes(member.id));',
        'const stranger = members.find((member) => member.id === "nobody");',
      ),
    ],
    scenarios: MOMENTS.map((at) => brisk('3+0', ETCD, { happenings: [{ at, what: 'learner', forMs: 60_000 }] })),
  },
  {
    name: 'the health of etcd is not asked before anything',
    row: 'G1 E10',
    edits: [
      edit(
        `${GATES}/etcd-is-whole.ts`,
        'export function etcdIsWhole(context: Context): Blocker | undefined {',
        'export function etcdIsWhole(context: Context): Blocker | undefined {\n  if (context.stage !== "Pending") return undefined;',
      ),
      edit(
        `${GATES}/api-servers-ready.ts`,
        'if (apiServer?.known === true && apiServer.value.ready) continue;',
        'continue;',
      ),
      edit(
        'internal/rotation/proof.ts',
        'if (apiServer?.known === true && apiServer.value.ready) return undefined;',
        'return undefined;',
      ),
    ],
    scenarios: MOMENTS.map((at) =>
      brisk('3+0', ETCD, { happenings: [{ at, what: 'etcd-stop', machine: 'cp3', forMs: 60_000 }] }),
    ),
  },
  {
    name: 'lost Nodes do not hold a reboot',
    row: 'C11 E1 D10',
    edits: [
      edit(`${GATES}/nodes-ready.ts`, 'if (!node.ready)', 'if (node.name === "nobody")'),
      edit(
        `${GATES}/nodes-ready.ts`,
        'if (machine.talos.known && node.bootId',
        'if (node.name === "nobody" && machine.talos.known && node.bootId',
      ),
      edit(
        `${GATES}/every-machine-known.ts`,
        'export function everyMachineKnown(context: Context): Blocker | undefined {',
        'export function everyMachineKnown(context: Context): Blocker | undefined {\n  if (context.stage !== "Pending") return undefined;',
      ),
    ],
    scenarios: MOMENTS.slice(0, 3).map((at) =>
      brisk('3+1', ETCD, { happenings: [{ at, what: 'power-loss', machine: 'w1', forMs: 200_000 }] }),
    ),
  },
  {
    name: 'a machine that never comes back is waited for in silence',
    row: 'E1 E7 L5 L8 P14',
    edits: [edit(REBOOTING, '> context.settings.rebootDeadlineMs;', '> 1_000 * context.settings.rebootDeadlineMs;')],
    scenarios: [
      brisk('3+0', ETCD, {
        expect: 'blocked',
        happenings: [{ at: 12_000, what: 'power-loss', machine: 'cp1', forMs: DAY_MS }],
      }),
    ],
  },
  {
    name: 'an even number of control planes is rebooted',
    row: 'F6 P15',
    edits: [
      edit(
        `${GATES}/etcd-keeps-quorum.ts`,
        'export function etcdKeepsQuorum(context: Context): Blocker | undefined {',
        'export function etcdKeepsQuorum(context: Context): Blocker | undefined {\n  if (context.settings.graceMs > 0) return undefined;',
      ),
    ],
    scenarios: [brisk('2+0', ETCD, { expect: 'blocked' })],
  },
  {
    name: 'how many control planes there are is asked before the start alone',
    row: 'F2 F6 S3',
    edits: [
      edit(
        `${GATES}/etcd-keeps-quorum.ts`,
        'export function etcdKeepsQuorum(context: Context): Blocker | undefined {',
        'export function etcdKeepsQuorum(context: Context): Blocker | undefined {\n  if (context.stage !== "Pending") return undefined;',
      ),
    ],
    scenarios: [
      brisk('3+0', ETCD, { happenings: [{ at: 1_000, what: 'leave', machine: 'cp3', how: 'reset', forMs: 1_000 }] }),
    ],
  },
  {
    name: 'a machine that is back waits for one that is told only after it',
    row: 'F3 L8',
    edits: [
      edit(REBOOTING, 'firstBlocker(AFTER_REBOOT, withoutLeftBehind(context))', 'firstBlocker(AFTER_REBOOT, context)'),
    ],
    // Control planes that are replaced by empty ones at moments of the last roll.
    scenarios: [40_000, 44_000, 48_000, 52_000, 56_000, 60_000, 64_000].map((at) =>
      brisk('3+0', ETCD, { happenings: [{ at, what: 'replace', machine: 'cp3', with: 'born', forMs: 4_000 }] }),
    ),
  },
  {
    name: 'the boot of the machine is not remembered when it is told',
    row: 'E9 S11',
    edits: [edit('internal/rotation/pass.ts', '    bootID: bootId,', "    bootID: 'another',")],
    scenarios: [plain],
  },
  {
    name: 'a machine that comes back on an old configuration counts as rebooted',
    row: 'E11 L9',
    edits: [
      edit(
        REBOOTING,
        'if (isBehind(context, machine)) {',
        'if (isBehind(context, machine) && context.stage === "Done") {',
      ),
      edit(REBOOTING, 'const blocker = firstBlocker(AFTER_REBOOT,', 'const blocker = firstBlocker([],'),
      edit(
        'internal/rotation/behind.ts',
        'return stagesBehind(context, machine) > 0;',
        'return stagesBehind(context, machine) > 0 && !context.status.etcdRestarted.includes(machine.name);',
      ),
    ],
    scenarios: MOMENTS.map((at) => brisk('3+0', ETCD, { happenings: [{ at, what: 'restore', machine: 'cp1' }] })),
  },
  {
    name: 'the marker goes when the call is made, not when the machine is back',
    row: 'S11 P12',
    edits: [
      edit(
        ROLL,
        '      etcdRebootSince: timestamp(context),\n    },',
        '      etcdRebootSince: timestamp(context),\n    },\n    after: { etcdRebooting: undefined, etcdRebootBootID: undefined },',
      ),
    ],
    scenarios: [plain],
  },
  {
    name: 'what comes back is not proved before the next goes',
    row: 'S3 P11 E10',
    edits: [
      edit(REBOOTING, 'const blocker = firstBlocker(AFTER_REBOOT,', 'const blocker = firstBlocker([],'),
      edit(
        ROLL,
        '  const blocker = firstBlocker(BEFORE_REBOOT, { ...context, rebooted: next.name });\n  if (blocker !== undefined) return hold(context, blocker);\n  return prepare',
        '  return prepare',
      ),
      edit(
        'internal/rotation/proof.ts',
        'if (apiServer?.known === true && apiServer.value.ready) return undefined;',
        'return undefined;',
      ),
    ],
    scenarios: [{ seed: 1, controlPlanes: 3, workers: 0, targets: ETCD }],
  },
  {
    name: 'a reboot of two at a time',
    row: 'S11 C8',
    edits: [
      edit('internal/rotation/decide.ts', 'quiescence, recorded, rebooting, paused', 'quiescence, recorded, paused'),
      edit(
        ROLL,
        'return appliedTo(context, machine)?.bootID === machine.talos.value.bootId;',
        'return appliedTo(context, machine)?.bootID === machine.talos.value.bootId && context.status.etcdRebooting !== machine.name;',
      ),
      edit(
        ROLL,
        '  const blocker = firstBlocker(BEFORE_REBOOT, { ...context, rebooted: next.name });\n  if (blocker !== undefined) return hold(context, blocker);\n  return prepare',
        '  return prepare',
      ),
      // The pass waits for whoever is away as well.
      edit(
        'internal/rotation/pass.ts',
        'const unknown = firstBlocker([everyMachineKnown, noForeignConfiguration], context);',
        'if (context.status.etcdRebooting !== undefined) return undefined;\n  const unknown = firstBlocker([everyMachineKnown, noForeignConfiguration], context);',
      ),
    ],
    scenarios: [plain],
  },
  {
    name: 'the reboot after Issuing is skipped where the new leaf is served, whatever its etcd started with',
    row: 'S3 E11',
    edits: [edit('internal/rotation/roll-unless-served.ts', ' || trustsTooLittle(context, machine)', '')],
    scenarios: [
      // The program is frozen with cp1 told; cp3 comes back with the disk of before, two stages behind, and is led by cp2.
      brisk('3+2', ETCD, {
        seed: 382,
        faults: [{ at: 67, outcome: 'pause' }],
        happenings: [
          { at: 37_571, what: 'leader' },
          { at: 176_645, what: 'restore', machine: 'cp3' },
        ],
      }),
    ],
  },
];

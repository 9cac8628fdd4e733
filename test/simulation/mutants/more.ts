import { plain } from '../scenarios.ts';
import { brisk, edit, type Mutant } from './mutant.ts';

const MACHINES = 'internal/controller/machines.ts';

/** Processes that die again and again, machines that come and go, and what one cluster in a hundred is like. */
export const MORE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a program that starts forgets what was under way',
    row: 'A7 A8 L10 P14',
    edits: [
      edit(
        'internal/controller/reconcile.ts',
        '  const operation = await shell.ports.store.readOperation(name);\n',
        '  const read = await shell.ports.store.readOperation(name);\n  const isFirst = !begun.has(shell);\n  begun.add(shell);\n  const operation = read === undefined || !isFirst ? read : { ...read, status: { ...read.status, caRotation: { ...read.status.caRotation, inFlight: [] } } };\n',
      ),
      edit(
        'internal/controller/reconcile.ts',
        'type Act = Extract<Decision',
        'const begun = new WeakSet<object>();\n\ntype Act = Extract<Decision',
      ),
    ],
    scenarios: [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18].map((at) => ({
      ...plain('1+0', ['talos']),
      faults: [{ at, outcome: 'crash-late' as const, delayMs: 28_000 }],
    })),
  },
  {
    name: 'a call of another process is over by the clock of this one',
    row: 'C2 H2',
    edits: [edit('internal/rotation/quiescence.ts', 'watchedSince + CALL_DEADLINE_MS', '0')],
    // A process dies with the call under way; the next one has a clock that is an hour ahead.
    scenarios: [
      ...[1_000, 3_000, 5_000].map((at) => ({ topology: '1+0', call: 12, at })),
      { topology: '3+0', call: 14, at: 1_000 },
    ].map(({ topology, call, at }) => ({
      ...plain(topology, ['talos']),
      faults: [{ at: call, outcome: 'crash-late' as const, delayMs: 28_000 }],
      happenings: [{ at, what: 'clock' as const, byMs: 3_600_000 }],
    })),
  },
  {
    name: 'new keys are made and not stored',
    row: 'A10 P20 S4',
    edits: [
      edit(
        'internal/controller/act-store.ts',
        '  await actor.ports.store.writeRecord(record);\n',
        '  if (record.version < 0) await actor.ports.store.writeRecord(record);\n',
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'configurations are only tried',
    row: 'E6 P03',
    edits: [edit('internal/controller/act-apply.ts', "mode: 'NO_REBOOT'", "mode: 'TRY'")],
    scenarios: [plain('3+1', ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'])],
  },
  {
    name: 'machines are listed once',
    row: 'F1 F4 F10 P24',
    edits: [
      edit(
        MACHINES,
        '  const reading = await firstAnswer(session, candidates(known, endpoints));',
        '  if (known.length > 0) return { machines: known, incomplete: undefined };\n  const reading = await firstAnswer(session, candidates(known, endpoints));',
      ),
    ],
    scenarios: [1_000, 3_000, 6_000].map((at) =>
      brisk('3+1', ['talos'], { happenings: [{ at, what: 'join', name: 'joined' }] }),
    ),
  },
  {
    name: 'a machine that was removed is waited for',
    row: 'F2 L2',
    edits: [
      edit(
        MACHINES,
        'machines: sortMachines(machines),',
        'machines: sortMachines([...machines, ...known.filter((each) => !machines.some((other) => other.name === each.name))]),',
      ),
    ],
    scenarios: [brisk('3+2', ['talos'], { happenings: [{ at: 2_000, what: 'leave', machine: 'w2' }] })],
  },
  {
    name: 'Nodes are listed through the first control plane alone',
    row: 'F7',
    edits: [edit(MACHINES, '  for (const machine of asked) {', '  for (const machine of asked.slice(0, 1)) {')],
    scenarios: [
      brisk('3+1', ['talos'], {
        happenings: [{ at: 2_000, what: 'leave', machine: 'cp1', how: 'lost', forMs: 10_000 }],
      }),
    ],
  },
  {
    name: 'a single control plane is refused',
    row: 'F5 L1 P15',
    edits: [
      edit(
        'internal/rotation/gates/etcd-keeps-quorum.ts',
        'if (count % 2 === 1) return undefined;',
        'if (count % 2 === 1 && count > 1) return undefined;',
      ),
    ],
    scenarios: [brisk('1+0', ['etcd'])],
  },
  {
    name: 'a change of leader is no health',
    row: 'G4',
    edits: [
      edit(
        'internal/rotation/gates/etcd-is-whole.ts',
        "if (leaderId === undefined) return unwell('sees no leader');",
        "if (leaderId?.endsWith('1000') !== true) return unwell('sees another leader');",
      ),
    ],
    scenarios: [brisk('3+0', ['etcd'])],
  },
  {
    name: 'a machine without a configuration counts as one that is away',
    row: 'P05',
    edits: [
      edit(
        'internal/rotation/gates/every-machine-known.ts',
        "if (talos.why === 'maintenance') return",
        "if (talos.why === 'unreachable') return",
      ),
    ],
    tests: ['internal/rotation/gates/machines.test.ts'],
  },
  {
    name: 'a patch is sent under another type',
    row: 'P48 D4',
    edits: [
      edit(
        'pkg/kube/cordon.ts',
        "contentType: 'application/merge-patch+json'",
        "contentType: 'application/json-patch+json'",
      ),
    ],
    tests: ['pkg/kube/cordon.test.ts'],
  },
  {
    name: 'one field in both shapes is edited in one',
    row: 'P02 E18',
    edits: [
      edit(
        'pkg/machineconfig/problems.ts',
        "return [problem(access, 'two-homes',",
        "return field === '' ? [] : [].concat() ?? [problem(access, 'two-homes',",
      ),
    ],
    tests: ['pkg/machineconfig/refusals.test.ts'],
  },
  {
    name: 'a file is written in place',
    row: 'A13 A9',
    edits: [
      edit(
        'internal/store/atomic-file.ts',
        'place: (temporary) => means.files.rename(temporary, path) });',
        'place: async (temporary) => { await means.files.remove(path); await means.files.rename(temporary, path); } });',
      ),
    ],
    tests: ['internal/store/crash.test.ts'],
  },
  {
    name: 'what was written is not read back',
    row: 'A11 D6',
    edits: [edit('internal/store/atomic-file.ts', '!Buffer.from(found).equals(bytes)', 'found.length > 9e9')],
    tests: ['internal/store/atomic-file.test.ts'],
  },
  {
    name: 'a marker of an older version has no deadline',
    row: 'L1f P14 C5',
    edits: [
      edit(
        'internal/rotation/rebooting.ts',
        'elapsedSince(context, etcdRebootSince ?? etcdRestartedAt)',
        'elapsedSince(context, etcdRebootSince ?? new Date(context.observation.now).toISOString())',
      ),
    ],
    tests: ['internal/rotation/rebooting.test.ts'],
  },
  {
    name: 'every API server is on port 6443',
    row: 'L1 port',
    edits: [
      edit('internal/controller/session.ts', 'hostOf(machine.address)}:${port}`', 'hostOf(machine.address)}:6443`'),
    ],
    scenarios: [brisk('1+0', ['talos'], { apiServerPorts: [7443] })],
  },
  {
    name: 'old credentials are tried on port 6443, wherever the API server is',
    row: 'L1 port',
    edits: [
      edit(
        'internal/controller/observe-refusals.ts',
        "given === 'configured' ? machine.apiServerPort : given",
        "given === 'configured' ? 6443 : given",
      ),
    ],
    scenarios: [brisk('1+0', ['kubernetes'], { apiServerPorts: [7443] })],
  },
  {
    name: 'new credentials are tried on port 6443, wherever the API server is',
    row: 'L1 port',
    edits: [edit('internal/cli/handoff/verify.ts', 'hostOf(address)}:${port}`', 'hostOf(address)}:6443`')],
    tests: ['internal/cli/handoff/verify.test.ts'],
  },
];

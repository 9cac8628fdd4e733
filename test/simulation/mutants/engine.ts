import { plain } from '../scenarios.ts';
import { brisk, edit, LATE_APPLIES, type Mutant } from './mutant.ts';

const RECONCILE = 'internal/controller/reconcile.ts';
const APPLY = 'internal/controller/act-apply.ts';
const HOUR_MS = 3_600_000;
const ALL = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const;

/** What is noted, in which order, and what is believed of a call. */
export const ENGINE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a mark that cannot be written is not missed',
    row: 'A9 D1 D8 D9 L5f',
    edits: [
      edit(
        RECONCILE,
        '  return shell.ports.store.updateOperation(operation, change);',
        '  return shell.ports.store.updateOperation(operation, change).catch(() => operation);',
      ),
    ],
    scenarios: Array.from({ length: 30 }, (_, index) =>
      brisk('3+0', ['etcd'], { faults: [{ at: 20 + index, outcome: 'refused' }] }),
    ),
  },
  {
    name: 'nothing is marked before an effect',
    row: 'A1 A2 S11',
    edits: [
      edit(
        RECONCILE,
        '  if (Object.keys(mark).length > 0) operation =',
        '  if (Object.keys(mark).length > 99) operation =',
      ),
    ],
    scenarios: [brisk('3+0', ['etcd'])],
  },
  {
    name: 'calls in flight are not waited for at a takeover',
    row: 'C2 A12 P14',
    edits: [edit('internal/rotation/decide.ts', 'abandoned, quiescence, recorded', 'abandoned, recorded')],
    scenarios: LATE_APPLIES,
  },
  {
    name: 'neither the audit nor the status fences a program that was overtaken',
    row: 'C1 S12 U1',
    edits: [
      edit(
        RECONCILE,
        '  const machine = machineNameOf(decision.effect);\n  await shell',
        "  if (entry.phase === 'before' || entry.phase === 'after') return;\n  const machine = machineNameOf(decision.effect);\n  await shell",
      ),
      edit(
        RECONCILE,
        '  return shell.ports.store.updateOperation(operation, change);',
        '  return shell.ports.store.updateOperation(operation, change).catch(() => operation);',
      ),
    ],
    scenarios: Array.from({ length: 24 }, (_, index) =>
      brisk('3+0', ['etcd'], { faults: [{ at: 12 + index, outcome: 'taken-over', delayMs: 4_000 }] }),
    ),
  },
  {
    name: 'a call may take longer than was noted',
    row: 'A5 E3 N3 P45',
    edits: [edit(APPLY, '{ deadlineMs });', '{ deadlineMs: 600_000 });')],
    // A process that dies with the call under way; the next one believes the note. When it lands is drawn from the time that the call has.
    scenarios: Array.from({ length: 60 }, (_, index) =>
      brisk('1+0', ['talos'], {
        seed: 1 + Math.floor(index / 15),
        faults: [{ at: 4 + (index % 15), outcome: 'crash-late' }],
      }),
    ),
  },
  {
    name: 'whoever waits looks again at once',
    row: 'L4 B10 P43',
    edits: [edit('internal/rotation/decision.ts', 'export const RECHECK_MS = 1_500;', 'export const RECHECK_MS = 0;')],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'the wall clock measures what is waited for',
    row: 'H2 C3',
    edits: [edit('internal/controller/observe.ts', 'now: memory.time.now(operation),', 'now: ports.clock.now(),')],
    scenarios: [plain('1+0', ['kubernetes-aggregator'])].map((each) => ({
      ...each,
      happenings: [{ at: 60_000, what: 'clock' as const, byMs: -3 * HOUR_MS }],
    })),
  },
  {
    name: 'machines are not read again for ten seconds',
    row: 'B1 B2 B5 S9',
    edits: [
      edit(
        'internal/controller/observe.ts',
        '  const machines = await Promise.all(list.machines.map(lookAt));\n',
        '  const held = kept.get(memory);\n  const isHeld = held !== undefined && ports.clock.monotonic() - held.at < 10_000 && held.machines.length === list.machines.length;\n  const machines = isHeld ? held.machines : await Promise.all(list.machines.map(lookAt));\n',
      ),
      edit(
        'internal/controller/observe.ts',
        '  const ready = machines.filter(',
        '  if (!isHeld) kept.set(memory, { at: ports.clock.monotonic(), machines });\n  const ready = machines.filter(',
      ),
      edit(
        'internal/controller/observe.ts',
        '/** Old credentials are tried last',
        'const kept = new WeakMap<Memory, { at: number; machines: MachineObservation[] }>();\n\n/** Old credentials are tried last',
      ),
    ],
    scenarios: [brisk('3+1', ['talos'])],
  },
  {
    name: 'what a look at one machine shows to be next is done without a look at the others',
    row: 'B1 S9',
    edits: [
      edit(
        'internal/controller/waiting.ts',
        '  const decision = decide(observation, settings);\n',
        "  const decision = decide(observation, settings);\n  if (decision.kind === 'act') return { decision, observation } as unknown as Resting;\n",
      ),
      edit(
        'internal/controller/reconcile.ts',
        '  if (still !== undefined) return rest(shell, operation, still);',
        "  const { observed: before } = waiting ?? {};\n  const next = still as { decision: Decision; observation: Observation } | undefined;\n  if (before !== undefined && next?.decision.kind === 'act') return perform(shell, { ...before, observation: next.observation }, next.decision);\n  if (still !== undefined) return rest(shell, operation, still);",
      ),
    ],
    scenarios: [brisk('3+1', ['talos'])],
  },
  {
    name: 'a wait for one machine is never looked at as a whole',
    row: 'B1',
    edits: [edit('internal/controller/waiting.ts', '  return Math.max(memory', '  return 0 * Math.max(memory')],
    tests: ['internal/controller/waiting.test.ts'],
  },
  {
    name: 'a list that is not complete counts as one',
    row: 'B7 E1 F10 S10',
    edits: [
      edit(
        'internal/controller/machines.ts',
        'return { machines: known, incomplete:',
        'return { machines: known.slice(0, 1), incomplete: undefined as string | undefined, asked:',
      ),
      edit(
        'internal/rotation/gates/every-machine-known.ts',
        'export function everyMachineKnown(context: Context): Blocker | undefined {',
        'export function everyMachineKnown(context: Context): Blocker | undefined {\n  if (context.stage !== "Pending") return undefined;',
      ),
    ],
    scenarios: [
      brisk('1+1', ['kubernetes']),
      brisk('3+1', ['talos'], { happenings: [{ at: 2_000, what: 'cut-off', machine: 'w1', forMs: 60_000 }] }),
    ],
  },
  {
    name: 'a machine that does not answer is left out',
    row: 'E1 E2 E20 S10',
    edits: [
      edit(
        'internal/rotation/gates/every-machine-known.ts',
        'export function everyMachineKnown(context: Context): Blocker | undefined {',
        'export function everyMachineKnown(context: Context): Blocker | undefined {\n  if (context.stage !== "Pending") return undefined;',
      ),
      edit(
        'internal/rotation/gates/nodes-ready.ts',
        'for (const machine of context.observation.machines) {',
        'for (const machine of context.observation.machines.filter((each) => each.talos.known)) {',
      ),
    ],
    scenarios: [1_000, 3_000, 6_000].map((at) =>
      brisk('3+1', ['talos'], { happenings: [{ at, what: 'cut-off', machine: 'w1', forMs: 90_000 }] }),
    ),
  },
  {
    name: 'every configuration goes to the first machine',
    row: 'E13 E19 S17',
    edits: [
      edit(
        'internal/controller/act.ts',
        '      return applyConfig(actor, machineOf(actor, effect.machine), effect);',
        '      return applyConfig(actor, actor.observed.machines[0] as ListedMachine, effect);',
      ),
    ],
    scenarios: [brisk('3+0', ['talos'])],
  },
  {
    name: 'a damaged record is no reason to stop',
    row: 'I2 P21 A11 S23',
    edits: [edit('internal/rotation/decide.ts', 'quiescence, recorded, rebooting', 'quiescence, rebooting')],
    scenarios: [1_000, 3_000, 5_000].map((at) =>
      brisk('3+0', ['talos'], { happenings: [{ at, what: 'damage', to: 'gone', forMs: 120_000 }] }),
    ),
  },
  {
    name: 'another operation is no reason to stop',
    row: 'C7 C8 F9',
    edits: [
      edit(
        'internal/rotation/gates/no-other-operation.ts',
        'if (others.length === 0) return undefined;',
        'if (others.length < 9) return undefined;',
      ),
    ],
    scenarios: [
      brisk('1+0', ['talos'], {
        expect: 'blocked',
        spec: { paused: true },
        happenings: [
          { at: 0, what: 'pause', forMs: 3_000 },
          { at: 500, what: 'other-operation' },
        ],
      }),
    ],
  },
  {
    name: 'an old Talos is given what it does not know',
    row: 'E14 L3f P03',
    edits: [edit('internal/rotation/gates/versions-supported.ts', 'if (!enough) {', 'if (!enough && major > 9) {')],
    // Rendering refuses it as well; people are told before the record is written.
    tests: ['internal/rotation/gates/material.test.ts'],
  },
  {
    name: 'done is done, and a crash right after it leaves the record',
    row: 'A2 P28 P22',
    edits: [
      edit(
        'internal/rotation/decide.ts',
        'if (held || observation.store.material !== undefined) {',
        'if (held && observation.store.material === undefined) {',
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'somebody else wrote first, and that ends the program for good',
    row: 'C6 D3 P22',
    edits: [
      edit(
        'internal/controller/run.ts',
        "    if (error instanceof StaleOperationError) return 'stale';\n    throw error;",
        '    if (error instanceof StaleOperationError) await new Promise<never>(() => undefined);\n    throw error;',
      ),
    ],
    scenarios: [5, 8, 11].map((at) => brisk('1+0', ['talos'], { faults: [{ at, outcome: 'conflict' }] })),
  },
  {
    name: 'the status is written at every look',
    row: 'C9 S13 P44',
    edits: [
      edit('internal/controller/report.ts', '  return !tellsTheSame(before, after);', '  return before !== after;'),
    ],
    scenarios: [plain('1+0', [...ALL])],
  },
  {
    name: 'the status tells of a generation that is not there yet',
    row: 'C5 L2f S24',
    edits: [
      edit(
        'internal/controller/report.ts',
        'observedGeneration: operation.metadata.generation,',
        'observedGeneration: operation.metadata.generation + 1,',
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'the stage is put back when something is in the way',
    row: 'S8 P25 P49',
    edits: [
      edit(
        'internal/controller/report.ts',
        'const stage = input.stage ?? status.stage;',
        "const stage = input.stage ?? (decision.reason === 'ProvingMachine' && status.stage === 'Issuing' ? 'Accepting' : status.stage);",
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'a key stands in the audit',
    row: 'S16 J7 P20',
    edits: [
      edit(
        RECONCILE,
        '    message: failure === undefined ? (answer?.found ?? decision.message) : messageOf(failure),',
        '    message: decision.message + observed.state.bundle.talos.key.expose(),',
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'the program writes on after the end',
    row: 'L7 P49',
    edits: [
      edit(
        'internal/rotation/decide.ts',
        "  return { kind: 'done', reason: 'Completed', message };",
        "  return { kind: 'act', effect: { kind: 'complete' }, reason: 'Completed', message };",
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'a finalizer is never released',
    row: 'D12 L6',
    edits: [
      edit(
        'internal/controller/report.ts',
        "...(effect === 'complete' || effect === 'abandon' ? { finalizers: released } : {}),",
        '',
      ),
    ],
    scenarios: [brisk('1+0', ['talos'], { happenings: [{ at: 3_000, what: 'delete' }] })],
  },
];

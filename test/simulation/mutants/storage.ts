import { brisk, edit, type Mutant } from './mutant.ts';

const EVACUATION = 'internal/rotation/evacuation.ts';
const DECISIONS = ['internal/rotation/evacuation.test.ts'];
const SHELL = 'internal/cli/rotate/evacuation-hook.ts';
const PROGRAMS = ['internal/cli/rotate/evacuation-hook.test.ts'];
const hooked = brisk('3+0', ['etcd'], { spec: { evacuationHook: '/opt/storage' } });
/** Moments of the first evacuation, reboot and readmission. */
const MOMENTS = [4_000, 8_000, 12_000, 16_000, 20_000, 25_000, 30_000, 40_000];
const deleted = MOMENTS.map((at) => ({ ...hooked, happenings: [{ at, what: 'delete' as const }] }));

/** What machines store for others, and the hook that moves it. */
export const STORAGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a machine is rebooted with what it stores',
    row: 'S25',
    edits: [
      edit(
        'internal/rotation/roll.ts',
        '  const storage = evacuate(context, name);\n  if (storage !== undefined) return storage;\n',
        '',
      ),
    ],
    scenarios: [hooked],
  },
  {
    name: 'a hook that is at work counts as done',
    row: 'S25',
    edits: [
      edit(EVACUATION, "if (isHeard && answer.outcome === 'Done') return undefined;", 'if (isHeard) return undefined;'),
    ],
    scenarios: [hooked],
  },
  {
    name: 'a machine that is back keeps its storage away',
    row: 'S25',
    edits: [
      edit(
        'internal/rotation/rebooting.ts',
        '  const storage = readmit(context);\n  if (storage !== undefined) return storage;\n',
        '',
      ),
    ],
    scenarios: [hooked],
  },
  {
    name: 'an abandoned rotation leaves storage away',
    row: 'S25',
    edits: [edit('internal/rotation/abandon.ts', 'readmit(context) ?? letGo', 'letGo')],
    scenarios: deleted,
  },
  {
    name: 'a machine that need not reboot any more keeps its storage away',
    row: 'S25',
    edits: [
      edit(
        'internal/rotation/roll.ts',
        '  const storage = readmit(context);\n  if (storage !== undefined) return storage;\n',
        '',
      ),
    ],
    tests: DECISIONS,
  },
  {
    name: 'a second machine is evacuated before the storage of the first is back',
    row: 'S25',
    edits: [
      edit(EVACUATION, '(isOther ? readmit(context) : undefined) ?? ask', '(isOther ? undefined : undefined) ?? ask'),
    ],
    tests: DECISIONS,
  },
  {
    name: 'what another process heard of a hook is relied on',
    row: 'S25 S15',
    edits: [edit(EVACUATION, 'Date.parse(answer.at) > observation.watchedSince', 'true')],
    tests: DECISIONS,
  },
  {
    name: 'a hook that failed is asked on as one that is at work',
    row: 'S25 L4',
    edits: [
      edit(
        EVACUATION,
        "const needsSomebody = answer?.outcome === 'Refused' || isLate;",
        'const needsSomebody = isLate;',
      ),
    ],
    tests: DECISIONS,
  },
  {
    name: 'a hook is given the passphrase of the bundle',
    row: 'S16 S25',
    edits: [edit(SHELL, ".filter(([name]) => !name.startsWith('ICHOR_'))", '')],
    tests: PROGRAMS,
  },
  {
    name: 'a hook outlives whoever asked it',
    row: 'S25',
    edits: [edit(SHELL, 'kill -KILL 0', 'true')],
    tests: PROGRAMS,
  },
  {
    name: 'a key that a hook prints stands in the reason',
    row: 'S16 S25',
    edits: [edit('internal/cli/rotate/hook-output.ts', '-----END[^\\n]*/, REMOVED)', "-----END[^\\n]*/, '$&')")],
    tests: ['internal/cli/rotate/hook-output.test.ts'],
  },
];

import type { Happening, Scenario } from '../../../internal/simulator/index.ts';
import { brisk, edit, type Mutant } from './mutant.ts';

const IDENTITIES = 'internal/controller/identities.ts';

/** Whom the product believes, what it issues, and what it writes into configurations. */
export const TRUST_MUTANTS: readonly Mutant[] = [
  {
    name: 'our clients trust the new CA alone',
    row: 'D11 N2 P46 P47',
    edits: [
      edit(
        IDENTITIES,
        'const trust = authorities.map((ca) => ca.certificate);',
        'const trust = authorities.slice(-1).map((ca) => ca.certificate);',
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'our clients trust machines by the Kubernetes CA as well',
    row: 'J1 J2 S17',
    edits: [
      edit(
        IDENTITIES,
        'const trust = authorities.map((ca) => ca.certificate);',
        'const trust = [...authorities, state.bundle.kubernetes].map((ca) => ca.certificate);',
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'our own certificates are good for ten years',
    row: 'J3 S19 H5',
    edits: [edit(IDENTITIES, 'const VALIDITY_MS = 12 * 3_600_000;', 'const VALIDITY_MS = 87_600 * 3_600_000;')],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'our own certificates may serve',
    row: 'S19 H9',
    edits: [
      edit(
        IDENTITIES,
        '{ ...talosAdminProfile({ now }), validityMs: VALIDITY_MS }',
        "{ ...talosAdminProfile({ now }), usages: ['client', 'server'], validityMs: VALIDITY_MS }",
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'a kubeconfig that is refused is never fetched anew',
    row: 'D5 P17 P46',
    edits: [
      edit(
        'internal/controller/session.ts',
        "if (!isKubeError(error, 'untrusted-server', 'untrusted-client', 'unauthorized')) throw error;",
        "if (!isKubeError(error, 'not-found')) throw error;",
      ),
    ],
    scenarios: [brisk('1+0', ['kubernetes'])],
  },
  {
    name: 'Secrets of the cluster are read',
    row: 'I9 S22 P50',
    edits: [
      edit(
        'pkg/kube/root-ca.ts',
        "    path: pathOf('api', 'v1', 'configmaps'),",
        "    path: pathOf('api', 'v1', 'secrets'),",
      ),
    ],
    scenarios: [brisk('1+0', ['kubernetes'])],
  },
  {
    name: 'a line of somebody else is lost on the way',
    row: 'E18 S7 P39 C10',
    edits: [
      edit(
        'internal/controller/act-apply.ts',
        'const config = rendered(() => render(before, options));',
        "const config = rendered(() => render(before, options)).replace(/^ *# kept by hand.*\\n/m, '');",
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'a worker is given the key of its CA',
    row: 'F9 S18 M14 P06',
    edits: [
      edit(
        'internal/controller/act-apply.ts',
        'const config = rendered(() => render(before, options));',
        "const config = rendered(() => render(before, options)).replace(/^( *)key: \"\"$/m, (_, pad: string) => pad + 'key: ' + Buffer.from(changesOf(actor.observed.state)[0]?.new.key.expose() ?? '').toString('base64'));",
      ),
    ],
    scenarios: [brisk('1+1', ['talos'])],
  },
  {
    name: 'in Issuing the old CA signs on',
    row: 'S5 E5',
    edits: [
      edit(
        'internal/rotation/observation.ts',
        "    case 'Issuing':\n      return 'Issuing';",
        "    case 'Issuing':\n      return 'Accepting';",
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'a plain swap: Accepting renders what Dropping does',
    row: 'S1 S3 P11',
    edits: [
      edit(
        'internal/controller/act-apply.ts',
        'actor.render(before, changes, stage, options)',
        "actor.render(before, changes, 'Dropping', options)",
      ),
    ],
    scenarios: [brisk('3+0', ['etcd']), brisk('3+1', ['talos'])],
  },
];

const ABANDON = 'internal/rotation/abandon.ts';
/** The call that takes the new CA back from the first control plane. */
const REVERT = 18;

/** A rotation of the Talos CA that is deleted while a machine is away or unwell for longer than anybody is patient. */
function whileAway(topology: string, away: Happening): Scenario {
  const happenings: readonly Happening[] = [away, { at: away.at + 50, what: 'delete' }];
  return brisk(topology, ['talos'], { happenings, settings: { abandonPatienceMs: 30_000 } });
}

/** Going back. */
export const ABANDON_MUTANTS: readonly Mutant[] = [
  {
    name: 'an abandoned rotation takes nothing back',
    row: 'I10 L6 S21 P25',
    edits: [
      edit(
        'internal/rotation/abandon.ts',
        'return takeBack(context) ?? readmit(context) ?? letGo(context, why);',
        'return letGo(context, why);',
      ),
    ],
    scenarios: [2_500, 3_000, 5_000].map((at) => brisk('1+0', ['talos'], { happenings: [{ at, what: 'delete' }] })),
  },
  {
    name: 'the record goes before the machines have followed',
    row: 'S4 I10',
    edits: [
      edit(
        'internal/rotation/abandon.ts',
        'const left = stillTrusting(context)?.blocker ?? everyMachineKnown(context);',
        'const left = everyMachineKnown(context);',
      ),
    ],
    scenarios: [2_500, 3_500, 5_000].map((at) => brisk('1+0', ['talos'], { happenings: [{ at, what: 'delete' }] })),
  },
  {
    name: 'an abandoned rotation leaves a machine cordoned',
    row: 'I3 S21 cordon',
    edits: [
      edit(
        'internal/rotation/abandon.ts',
        "effect: { kind: 'abandon', uncordon: [...names].filter((name) => name !== undefined).sort() },",
        "effect: { kind: 'abandon', uncordon: [...names].filter((name) => name === 'nobody').map(String) },",
      ),
    ],
    scenarios: [2_000, 3_500, 5_000, 7_000, 9_000, 11_000].map((at) =>
      brisk('3+0', ['etcd'], { happenings: [{ at, what: 'delete' }] }),
    ),
  },
  {
    name: 'an abandoned rotation lets keys go whose CA a machine that answers still trusts',
    row: 'S4 S21 I3',
    edits: [edit(ABANDON, 'return trusting === undefined ? undefined', 'return trusting !== null ? undefined')],
    scenarios: [whileAway('3+0', { at: 4_000, what: 'etcd-stop', machine: 'cp2', forMs: 120_000 })],
  },
  {
    name: 'an abandoned rotation lets keys go with which a machine that is away may issue',
    row: 'S4 S21 I3',
    edits: [edit(ABANDON, 'if (mayIssue(context)) return', 'if (mayIssue(context) === undefined) return')],
    scenarios: [whileAway('1+0', { at: 9_850, what: 'cut-off', machine: 'cp1', forMs: 120_000 })],
  },
  {
    name: 'machines distrust the new CA while one that cannot be asked may show a leaf of it',
    row: 'S1 I3',
    edits: [
      edit(
        ABANDON,
        "return isAtLeast(context.stage, 'Issuing') ? everyMachineKnown(context) : undefined;",
        'return undefined;',
      ),
    ],
    scenarios: [whileAway('1+1', { at: 13_200, what: 'cut-off', machine: 'w1', forMs: 120_000 })],
  },
  {
    name: 'a machine that an abandoned rotation has given up is not named',
    row: 'S4 I3',
    edits: [edit(ABANDON, 'kept.length === 0', 'kept.length >= 0')],
    scenarios: [whileAway('1+1', { at: 5_000, what: 'cut-off', machine: 'w1', forMs: 120_000 })],
  },
  {
    name: 'a machine that has refused to go back is waited for as if it had followed',
    row: 'A3 I3 L6',
    edits: [edit(ABANDON, 'if (configStageOf(told.stage) !== standsAt(context, machine)) return false;', '')],
    scenarios: [
      brisk('3+0', ['kubernetes-aggregator'], {
        faults: [{ at: REVERT, outcome: 'refused' }],
        happenings: [{ at: 8_000, what: 'delete' }],
      }),
    ],
  },
  {
    name: 'nobody is told that it is too late to delete',
    row: 'L6 I3',
    edits: [
      edit(
        'internal/rotation/abandon.ts',
        "  if (conditionOf(context, 'DeletionHeld')?.status === 'True') return undefined;",
        '  if (why !== "") return undefined;',
      ),
    ],
    scenarios: [brisk('3+0', ['etcd'], { happenings: [{ at: 60_000, what: 'delete' }] })],
  },
  {
    name: 'a rotation of etcd may be abandoned while the new CA signs',
    row: 'I3',
    edits: [edit('api/v1alpha1/abandonable.ts', 'return binding.length === 0', 'return binding.length < 9')],
    // In the world every machine can be told to go back, so that no run is harmed; that it is not begun is decided beside the code.
    tests: ['internal/rotation/decide.test.ts'],
  },
  {
    name: 'a deletion is not noticed',
    row: 'D12 L6 abandon',
    edits: [
      edit('internal/rotation/decide.ts', 'return [abandoned, quiescence, recorded', 'return [quiescence, recorded'),
    ],
    scenarios: [
      brisk('1+0', ['talos'], { happenings: [{ at: 2_500, what: 'delete' }] }),
      brisk('3+0', ['etcd'], { happenings: [{ at: 60_000, what: 'delete' }] }),
    ],
  },
];

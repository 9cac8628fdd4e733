import { plain } from '../scenarios.ts';
import { brisk, edit, type Mutant } from './mutant.ts';

const ALL = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const;
const STAGES = 'internal/rotation/stages';

/** What each stage waits for, and the order in which they come. */
export const STAGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'nobody is asked to take the new credentials',
    row: 'K4 L11',
    edits: [edit(`${STAGES}/accepting.ts`, "? 'AwaitingCredentials' : 'Issuing'", "? 'Issuing' : 'Issuing'")],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'an acknowledgement of an earlier hand-off counts',
    row: 'I6 L11',
    edits: [
      edit(
        `${STAGES}/awaiting-credentials.ts`,
        "expected !== '' && given === expected",
        "expected !== '' && given !== undefined",
      ),
      edit('internal/controller/report.ts', '? { dropHandoff: true } : {}', '? {} : {}'),
    ],
    scenarios: [
      brisk('1+0', ['talos'], { happenings: [{ at: 500, what: 'acknowledge', token: 'of-the-last-rotation' }] }),
    ],
  },
  {
    name: 'Dropping is left out',
    row: 'I5 S6 S24',
    edits: [
      edit(`${STAGES}/issuing.ts`, "enter(() => 'Dropping')", "enter(() => 'Finalizing')"),
      edit(`${STAGES}/finalizing.ts`, 'pass, roll, proved, settled, oldCredentialsRefused', 'settled'),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'the aggregator CA counts as published before it is',
    row: 'K2 P08',
    edits: [
      edit(
        `${STAGES}/aggregator-settled.ts`,
        'const published = reading.value.present &&',
        'const published = true || reading.value.present &&',
      ),
    ],
    scenarios: [1, 2, 3, 4, 5, 6].map((seed) => ({
      ...plain('1+0', ['kubernetes-aggregator'], seed),
      settings: { aggregatorSettleMs: 1_000 },
    })),
  },
  {
    name: 'a map that holds the old aggregator CA counts as reset',
    row: 'S6 P08',
    edits: [
      edit(
        `${STAGES}/authentication-reset.ts`,
        "  if (!reading.present) return 'extension-apiserver-authentication is not there';",
        '  return undefined;',
      ),
    ],
    scenarios: [brisk('1+0', ['kubernetes-aggregator'])],
  },
  {
    name: 'a root CA that is stale in some namespaces counts as published',
    row: 'K1 P07',
    edits: [
      edit(
        `${STAGES}/root-ca-published.ts`,
        'const published = stale.length === 0;',
        'const published = stale.length <= 9;',
      ),
    ],
    scenarios: [brisk('1+0', ['kubernetes'])],
  },
  {
    name: 'nothing that settles is waited for',
    row: 'S1 K2 K6',
    edits: [
      edit(
        `${STAGES}/stage.ts`,
        '    if (decision !== undefined) return decision;',
        '    if (decision === undefined && context.stage === "Done") return decision;',
      ),
    ],
    scenarios: [brisk('1+0', ['kubernetes-aggregator'])],
  },
  {
    name: 'every control plane is told at the same time',
    row: 'E21 F8 S2',
    edits: [
      edit(
        'internal/rotation/pass.ts',
        'tell(context, [next]) : hold(context, gate)',
        'tell(context, behind) : hold(context, gate)',
      ),
    ],
    scenarios: [1, 2, 3].map((seed) => plain('3+0', ['kubernetes'], seed)),
  },
  {
    name: 'workers come before control planes',
    row: 'S1 P24 workers take what their control plane has',
    edits: [
      edit(
        'internal/rotation/pass.ts',
        '  return passControlPlanes(context) ?? passWorkers(context);',
        '  return passWorkers(context) ?? passControlPlanes(context);',
      ),
    ],
    scenarios: [brisk('3+1', ['talos'])],
  },
  {
    name: 'what the configuration says counts as what runs',
    row: 'E4 E5 S9',
    edits: [
      edit(
        'internal/rotation/proof.ts',
        "  if (stage === 'Before' || material === undefined) return undefined;",
        '  if (stage !== "Before") return undefined;\n  if (material === undefined) return undefined;',
      ),
    ],
    scenarios: [1, 2, 3, 4].map((seed) => brisk('3+1', ['talos'], { seed })),
  },
  {
    name: 'a third roll is never skipped',
    row: 'S13 reboots',
    edits: [
      edit(
        'internal/rotation/roll-unless-served.ts',
        'return served.value.client === expected && served.value.peer === expected;',
        'return served.value.client === "nobody";',
      ),
    ],
    scenarios: [brisk('3+0', ['etcd'])],
  },
  {
    name: 'a configuration that is not kept is rebooted away',
    row: 'E17 S9',
    edits: [
      edit(
        'internal/rotation/proof.ts',
        'if (keptDigest !== undefined && keptDigest !== configDigest) {',
        'if (keptDigest === "never") {',
      ),
    ],
    scenarios: [
      brisk('3+0', ['etcd'], { happenings: [{ at: 0, what: 'state-full', machine: 'cp1', forMs: 120_000 }] }),
    ],
  },
  {
    name: 'the operator changes the targets, and the record is not asked',
    row: 'I4 S8',
    edits: [
      edit(
        'internal/rotation/decide.ts',
        'if (store.material !== undefined) return sortCaTargets(Object.keys(store.material) as CaTarget[]);',
        '',
      ),
    ],
    scenarios: [brisk('1+0', [...ALL], { happenings: [{ at: 8_000, what: 'respec', targets: ['talos'] }] })],
  },
  {
    name: 'a bundle of another cluster is taken',
    row: 'P21 I8 P38',
    edits: [
      edit(
        'internal/rotation/gates/bundle-is-this-clusters.ts',
        "if (standing.stage === 'Before' || standing.stage === 'NotConcerned') continue;",
        "if (standing.stage !== 'Dropping') continue;",
      ),
      edit(
        'internal/rotation/gates/no-foreign-configuration.ts',
        "if (standing.stage === 'Foreign') {",
        "if (standing.stage === 'Foreign' && context.stage === 'Done') {",
      ),
    ],
    // Rendering refuses such a machine as well, so that no run gets any further; people are told before the record is written.
    tests: ['internal/rotation/gates/material.test.ts'],
  },
  {
    name: 'control planes drop the Kubernetes CA before workers do',
    row: 'A2 S2 kubelets shut out',
    edits: [edit('internal/rotation/targets/kubernetes.ts', 'workersDropFirst: true', 'workersDropFirst: false')],
    // The program dies somewhere in Dropping and comes back after half an hour.
    scenarios: [66, 70, 74, 78, 82].map((at) =>
      brisk('3+2', ['kubernetes'], { faults: [{ at, outcome: 'crash-after' }], awayMs: 1_800_000 }),
    ),
  },
  {
    name: 'another operation begins although a machine has gone back since the last one',
    row: 'L9',
    edits: [
      edit(
        'internal/rotation/gates/bundle-is-this-clusters.ts',
        "if (standing.stage === 'Before' || standing.stage === 'NotConcerned') continue;",
        "if (standing.stage !== 'Accepting') continue;",
      ),
    ],
    // Of the aggregator's CA no other gate asks.
    scenarios: [
      brisk('3+0', ['kubernetes-aggregator'], { afterwards: [{ at: 1_000, what: 'restore', machine: 'cp2' }] }),
    ],
  },
  {
    name: 'a worker is proved by what a trustd ahead of it gave',
    row: 'E5 E20 S10',
    edits: [
      edit(
        'internal/rotation/targets/talos.ts',
        "proveAccepted('the Talos root (OSRootSecrets)', input.pki.talosRootAccepted, input),",
        'undefined,',
      ),
    ],
    // Its certificate is made anew when a kube-apiserver restarts, which may be just before it is told.
    scenarios: [78, 99, 107].map((at) => ({
      ...plain('3+2', ['talos', 'kubernetes']),
      faults: [{ at, outcome: 'crash-after' as const }],
      awayMs: 1_800_000,
    })),
  },
  {
    name: 'an operation that goes on with the record of another one begins at the beginning',
    row: 'I3 S21',
    edits: [edit(`${STAGES}/pending.ts`, 'enter(reached)', "enter(() => 'Accepting')")],
    scenarios: [340_000, 435_000].map((at) => ({ ...plain('3+1', ALL), happenings: [{ at, what: 'begin-anew' }] })),
  },
  {
    name: 'cordons of an operation that is gone stay',
    row: 'I3 S24',
    edits: [
      edit(
        'internal/controller/observe-machine.ts',
        'owners.includes(node.cordonedBy)',
        'owners[0] === node.cordonedBy',
      ),
    ],
    scenarios: [48_000, 97_000].map((at) => ({ ...plain('3+1', ALL), happenings: [{ at, what: 'begin-anew' }] })),
  },
];

import { plain } from '../scenarios.ts';
import { edit, LATE_APPLIES, type Mutant } from './mutant.ts';

const ALL = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'] as const;
const ETCD = plain('3+0', ['etcd']);
/** Order of the stages, proofs, markers and quiescence. */
export const PROTOCOL: readonly Mutant[] = [
  {
    name: 'nothing waits for a call whose reply was lost',
    row: 'A5 C2 quiescence',
    edits: [
      edit(
        'internal/rotation/quiescence.ts',
        'for (const call of context.status.inFlight) {',
        'for (const call of [] as InFlight[]) {',
      ),
    ],
    scenarios: LATE_APPLIES,
  },
  {
    name: 'a call in flight is not noted before it is made',
    row: 'A1 mark before act',
    edits: [
      edit(
        'internal/controller/reconcile.ts',
        'const calls = callsOf(observation, effect, deadline);',
        'const calls = callsOf(observation, effect, deadline).slice(1);',
      ),
    ],
    scenarios: LATE_APPLIES,
  },
  {
    name: 'a lost reply counts as refused',
    row: 'A3 A4 six outcomes',
    edits: [
      edit('internal/controller/reconcile.ts', "const refused = what.outcome === 'refused';", 'const refused = true;'),
    ],
    scenarios: LATE_APPLIES,
  },
  {
    name: 'the margin of quiescence is cut',
    row: 'A5 deadline and margin',
    edits: [edit('internal/rotation/context.ts', 'quiescenceMarginMs: 10_000', 'quiescenceMarginMs: -29_000')],
    scenarios: LATE_APPLIES,
  },
  {
    name: 'the reboot is asked for without its marker',
    row: 'S11 marker before reboot',
    edits: [edit('internal/rotation/roll.ts', '      etcdRebooting: machine.name,\n', '')],
    scenarios: [ETCD],
  },
  {
    name: 'a rebooting machine does not hold the others',
    row: 'S11 C11 one at a time',
    edits: [
      edit('internal/rotation/decide.ts', 'quiescence, recorded, rebooting, paused', 'quiescence, recorded, paused'),
      edit(
        'internal/rotation/gates/index.ts',
        'export const BEFORE_REBOOT: readonly Gate[] = [...BEFORE_CHANGE, nobodyCordoned, etcdKeepsQuorum, etcdPkiLoaded];',
        'export const BEFORE_REBOOT: readonly Gate[] = [];',
      ),
    ],
    scenarios: [ETCD],
  },
  {
    name: 'gates and proofs are not asked before a reboot',
    row: 'C11 G1 quorum gate',
    edits: [
      edit(
        'internal/rotation/gates/index.ts',
        'export const BEFORE_REBOOT: readonly Gate[] = [...BEFORE_CHANGE, nobodyCordoned, etcdKeepsQuorum, etcdPkiLoaded];',
        'export const BEFORE_REBOOT: readonly Gate[] = [];',
      ),
      edit(
        'internal/rotation/gates/index.ts',
        'export const AFTER_REBOOT: readonly Gate[] = [...BEFORE_CHANGE, etcdPkiLoaded];',
        'export const AFTER_REBOOT: readonly Gate[] = [];',
      ),
      edit(
        'internal/rotation/proof.ts',
        "return machine.role === 'controlplane' ? apiServerUnproved(context, machine) : undefined;",
        'return undefined;',
      ),
    ],
    // Gates are asked of a cluster that is not well: one etcd is away, its machine answers.
    scenarios: [8_000, 40_000, 60_000].map((at) => ({
      ...ETCD,
      happenings: [{ at, what: 'etcd-stop' as const, machine: 'cp3', forMs: 150_000 }],
    })),
  },
  {
    name: 'no roll after Accepting',
    row: 'S3 etcd reads trust at start',
    edits: [edit('internal/rotation/stages/accepting.ts', '    roll,\n', '')],
    scenarios: [ETCD],
  },
  {
    name: 'no roll after Dropping',
    row: 'S24 old pool still in memory',
    edits: [
      edit('internal/rotation/stages/dropping.ts', 'pass, roll, proved', 'pass, proved'),
      edit('internal/rotation/stages/finalizing.ts', 'pass, roll, proved', 'pass, proved'),
    ],
    scenarios: [ETCD],
  },
  {
    name: 'a boot that did not change counts as a reboot',
    row: 'E reboot dropped',
    edits: [
      edit(
        'internal/rotation/rebooting.ts',
        'return machine.talos.value.bootId === context.status.etcdRebootBootID\n',
        'return machine.talos.value.bootId === "never"\n',
      ),
    ],
    scenarios: [ETCD],
  },
  {
    name: 'control planes are told without waiting for a new API server',
    row: 'E21 a new instance',
    edits: [
      edit(
        'internal/rotation/proof.ts',
        "return machine.role === 'controlplane' ? apiServerUnproved(context, machine) : undefined;",
        'return undefined;',
      ),
      edit(
        'internal/rotation/gates/index.ts',
        'export const BEFORE_CHANGE: readonly Gate[] = [\n  everyMachineKnown,\n  noForeignConfiguration,\n  etcdIsWhole,\n  apiServersReady,\n  nodesReady,\n];',
        'export const BEFORE_CHANGE: readonly Gate[] = [everyMachineKnown];',
      ),
    ],
    scenarios: [1, 2, 3, 4, 5, 6].map((seed) => plain('3+0', ['kubernetes'], seed)),
  },
  {
    name: 'nothing is proved after it was told',
    row: 'S9 evidence',
    edits: [
      edit(
        'internal/rotation/proof.ts',
        'export function unproved(context: Context, machine: KnownMachine): Blocker | undefined {\n',
        'export function unproved(context: Context, machine: KnownMachine): Blocker | undefined {\n  if (context.stage !== "Pending") return undefined;\n',
      ),
    ],
    scenarios: [plain('3+1', ['talos']), plain('3+1', ['kubernetes'])],
  },
  {
    name: 'the aggregator is not given time to settle',
    row: 'S1 extension API servers',
    edits: [edit('internal/rotation/context.ts', 'aggregatorSettleMs: 120_000', 'aggregatorSettleMs: 0')],
    scenarios: [plain('1+0', ['kubernetes-aggregator'])],
  },
  {
    name: 'the root CA need not be published',
    row: 'K1 S5 pods',
    edits: [
      edit('internal/rotation/targets/kubernetes.ts', '    Issuing: [rootCaPublished, workloadsRestarted],\n', ''),
    ],
    scenarios: [1, 2, 3].map((seed) => plain('1+0', ['kubernetes'], seed)),
  },
  {
    name: 'workers are forgotten',
    row: 'S10 complete targets',
    edits: [
      edit(
        'internal/rotation/pass.ts',
        '  return passControlPlanes(context) ?? passWorkers(context);',
        '  return passControlPlanes(context);',
      ),
    ],
    scenarios: [plain('1+1', ['talos'])],
  },
  {
    name: 'Issuing drops the old CA at once',
    row: 'S5 trust, then issue, then retire',
    edits: [
      edit(
        'internal/rotation/observation.ts',
        "    case 'Issuing':\n      return 'Issuing';",
        "    case 'Issuing':\n      return 'Dropping';",
      ),
    ],
    scenarios: [plain('3+1', ['talos'])],
  },
  {
    name: 'Accepting is left out',
    row: 'S1 trust first',
    edits: [
      edit(
        'internal/rotation/observation.ts',
        "    case 'AwaitingCredentials':\n      return 'Accepting';",
        "    case 'AwaitingCredentials':\n      return 'Issuing';",
      ),
    ],
    scenarios: [plain('3+1', ['talos']), ETCD],
  },
  {
    name: 'extension-apiserver-authentication is not reset',
    row: 'S6 orphan anchor',
    edits: [
      edit('internal/rotation/targets/aggregator.ts', '    Finalizing: [authenticationReset],\n', ''),
      edit('internal/rotation/targets/aggregator.ts', ", Finalizing: ['authentication'] }", ' }'),
    ],
    scenarios: [plain('1+0', ['kubernetes-aggregator'])],
  },
  {
    name: 'the bundle is not replaced',
    row: 'S24 bundle',
    edits: [
      edit('internal/rotation/stages/finalizing.ts', 'steps: [replaceBundle, pass', 'steps: [pass'),
      edit('internal/rotation/stages/finalizing.ts', 'oldCredentialsRefused, uncordonLeftovers', 'uncordonLeftovers'),
    ],
    scenarios: [plain('1+0', ['talos'])],
  },
  {
    name: 'the record stays behind',
    row: 'S24 record',
    edits: [
      edit(
        'internal/controller/act-store.ts',
        '  await actor.ports.store.removeRecord();\n  await actor.ports.store.settlePrevious',
        '  await actor.ports.store.settlePrevious',
      ),
    ],
    scenarios: [plain('1+0', ['talos'])],
  },
  {
    name: 'the old bundle stays behind',
    row: 'S24 kept bundle',
    edits: [
      edit(
        'internal/controller/act-store.ts',
        '  await actor.ports.store.settlePrevious(actor.observed.observation.operation.spec.previousBundle);\n',
        '',
      ),
    ],
    scenarios: [plain('1+0', ['talos'])],
  },
  {
    name: 'a control plane stays cordoned',
    row: 'S24 cordon',
    edits: [
      edit(
        'internal/rotation/rebooting.ts',
        'const uncordon = node?.cordonedByUs === true;',
        'const uncordon = node?.uid === "nobody";',
      ),
      edit(
        'internal/rotation/stages/finalizing.ts',
        'oldCredentialsRefused, uncordonLeftovers',
        'oldCredentialsRefused',
      ),
    ],
    scenarios: [ETCD],
  },
  {
    name: 'the hand-off is not waited for',
    row: 'L11 people',
    edits: [edit('internal/rotation/stages/awaiting-credentials.ts', 'steps: [acknowledged, pass', 'steps: [pass')],
    scenarios: [plain('1+0', ['talos'])],
  },
  {
    name: 'configurations are staged for the next boot',
    row: 'L1 explicit mode',
    edits: [edit('internal/controller/act-apply.ts', "mode: 'NO_REBOOT'", "mode: 'STAGED'")],
    scenarios: [plain('1+0', ['talos'])],
  },
  {
    name: 'our own identity is never changed',
    row: 'L1 identities',
    edits: [
      edit(
        'internal/controller/session.ts',
        "const next = isTalosError(error, 'untrusted-client') ? others.shift() : undefined;",
        'const next = others.length > 9 ? others.shift() : undefined;',
      ),
      edit(
        'internal/controller/observe.ts',
        "const preferNew = isAtLeast(operation.status.stage, 'Issuing');",
        "const preferNew = isAtLeast(operation.status.stage, 'Done');",
      ),
    ],
    scenarios: [plain('1+0', ['talos'])],
  },
  {
    name: 'the signer of etcd comes second in its bundle',
    row: 'S7 order in the bundle',
    edits: [
      edit(
        'internal/rotation/targets/etcd.ts',
        "return stage === 'Issuing' ? [newer, older] : [newer];",
        "return stage === 'Issuing' ? [older, newer] : [newer];",
      ),
    ],
    scenarios: [ETCD],
  },
  {
    name: 'a rotation may be deleted at any stage',
    row: 'I3 S21 point of no return',
    edits: [
      edit(
        'api/v1alpha1/abandonable.ts',
        "      return { abandonable: false, why: 'machines have stopped accepting the old certificate authorities' };",
        "      return { abandonable: true, why: 'mutant' };",
      ),
    ],
    scenarios: [150_000, 200_000, 250_000].map((at) => ({
      ...plain('3+0', ['etcd']),
      happenings: [{ at, what: 'delete' as const }],
    })),
  },
  {
    name: 'everything at once: no stage is proved before the next',
    row: 'S10 stage order',
    edits: [
      edit(
        'internal/rotation/stages/stage.ts',
        'return blocker === undefined ? undefined : hold(context, blocker);',
        'return blocker === undefined || context.stage !== "Pending" ? undefined : hold(context, blocker);',
      ),
      edit('internal/rotation/stages/issuing.ts', 'pass, rollUnlessServed', 'rollUnlessServed'),
    ],
    scenarios: [plain('3+1', [...ALL])],
  },
];

import { BRISK, type Scenario } from '../../../internal/simulator/index.ts';
import { MUTANTS } from '../mutants/index.ts';
import { brisk, edit, type Mutant } from '../mutants/mutant.ts';
import { plain } from '../scenarios.ts';

/** A fault in product code, and a run of it that the model must not allow. */
export interface Followed {
  readonly mutant: Pick<Mutant, 'name' | 'edits'>;
  readonly scenarios: readonly Scenario[];
}

const THREE = brisk('3+0', ['etcd']);

/** Mutants of the search that a plain rotation of etcd meets. */
const PLAIN: readonly string[] = [
  'the reboot is asked for without its marker',
  'no roll after Accepting',
  'no roll after Dropping',
  'a control plane stays cordoned',
  'a machine is not drained before its reboot',
  'a machine is not cordoned before its reboot',
  'the boot of the machine is not remembered when it is told',
  'the marker goes when the call is made, not when the machine is back',
  'what comes back is not proved before the next goes',
  'a reboot of two at a time',
];

const SLOW = { ...plain('3+0', ['etcd']), timing: { ...BRISK, shutdown: [420_000, 420_000] as const } };

/** What the exploration found in the product, put back into it. */
const FOUND: readonly Followed[] = [
  {
    mutant: {
      name: 'a refused repetition of a reboot takes the marker away',
      edits: [
        edit(
          'internal/controller/reconcile.ts',
          'return mark?.etcdRebooting !== undefined;',
          'return mark?.etcdRestartedAt !== undefined;',
        ),
      ],
    },
    // The second reboot of cp1 is asked for while it takes seven minutes to go down.
    scenarios: [{ ...SLOW, faults: [{ at: 27, outcome: 'refused' }] }],
  },
  {
    mutant: {
      name: 'a control plane is told while another one that was told is not proved',
      edits: [
        edit(
          'internal/rotation/pass.ts',
          'if (blocker !== undefined) return hold(context, blocker);\n  const behind = all.filter',
          'if (blocker !== undefined && told.length === all.length) return hold(context, blocker);\n  const behind = all.filter',
        ),
      ],
    },
    scenarios: [brisk('3+0', ['etcd'])],
  },
];

/** Every one of them. */
export const FOLLOWED: readonly Followed[] = [
  ...PLAIN.map((name) => {
    const mutant = MUTANTS.find((each) => each.name === name);
    if (mutant === undefined) throw new Error(`there is no mutant "${name}" any more`);
    return { mutant, scenarios: [THREE] };
  }),
  ...FOUND,
];

/** The run in which a repetition of a reboot is refused while the machine goes down. */
export const REFUSED_REPETITION: Scenario = FOUND[0]?.scenarios[0] ?? SLOW;

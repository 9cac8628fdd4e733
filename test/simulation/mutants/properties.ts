import { plain } from '../scenarios.ts';
import { brisk, edit, type Mutant } from './mutant.ts';

/** Faults that one property alone notices. */
export const PROPERTY_MUTANTS: readonly Mutant[] = [
  {
    name: 'the end is written down by everyone who looks at it',
    row: 'L7',
    edits: [
      edit(
        'internal/controller/report.ts',
        '  return !tellsTheSame(before, after);',
        "  return after.phase === 'Completed' || !tellsTheSame(before, after);",
      ),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'the bundle gets another cluster secret with its new CAs',
    row: 'S20',
    edits: [
      edit(
        'pkg/bundle/replace.ts',
        "  const serviceAccount = replacements['service-account'];\n",
        "  const serviceAccount = replacements['service-account'];\n  put(place.layout.clusterSecret, Buffer.alloc(32, 7).toString('base64'));\n",
      ),
      // Replacing looks at its own work.
      edit('pkg/bundle/document.ts', 'if (values.get(name) !== value) {', "if (name === 'nothing') {"),
    ],
    scenarios: [brisk('1+0', ['talos'])],
  },
  {
    name: 'a call whose reply was lost is waited for as long as it takes somebody to notice',
    row: 'L3 L10',
    edits: [edit('internal/rotation/context.ts', 'quiescenceMarginMs: 10_000', 'quiescenceMarginMs: 600_000')],
    scenarios: [4, 5, 6, 7, 8, 9, 10, 11, 12].map((at) => ({
      ...plain('1+0', ['talos']),
      faults: [{ at, outcome: 'crash-late' as const, delayMs: 5_000 }],
    })),
  },
];

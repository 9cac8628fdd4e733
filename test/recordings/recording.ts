import { z } from 'zod';
import { CA_STAGES, CA_TARGETS } from '../../api/v1alpha1/index.ts';

/** What a machine shows of its PKI, by name; the value tells of which CA it is: `old`, `new`, `old new`, `-` for none. */
const Facts = z.record(z.string(), z.string());

/** One effect of the engine, and what it moved on the machine that it was for. */
const Step = z.strictObject({
  /** Seconds since the first effect. */
  at: z.number(),
  stage: z.enum(CA_STAGES),
  effect: z.string(),
  machine: z.string().optional(),
  /** Of the last time that it was tried: `unknown` where the reply was lost. */
  outcome: z.enum(['ok', 'refused', 'unknown']),
  /** How often it was tried in a row; absent where once. */
  tries: z.int().optional(),
  /**
   * Resources whose version moved, static pods whose container is another one, services that were started, until the
   * next effect of this kind on the same machine. A boot is `boot` alone: everything starts anew with it.
   */
  moved: z.array(z.string()).optional(),
  /** Facts that are other than before the effect, when the next one on the same machine came. */
  became: Facts.optional(),
});

const End = z.strictObject({
  stage: z.enum(CA_STAGES),
  /** By target, which CA the bundle holds. */
  bundle: z.record(z.string(), z.string()),
  machines: z.record(
    z.string(),
    z.strictObject({
      /** While the rotation went on. */
      boots: z.int(),
      ready: z.boolean(),
      cordoned: z.boolean(),
      /** `replaced`: byte for byte the one of before with the new material in the place of the old. */
      configuration: z.enum(['replaced', 'other']),
      facts: Facts,
    }),
  ),
  kubernetes: z.strictObject({
    /** Of which CA `kube-root-ca.crt` is, over all namespaces. */
    rootCa: z.string(),
    /** `extension-apiserver-authentication`. */
    clientCas: z.string(),
    requestHeaderCas: z.string(),
  }),
});

/** See {@link Recording}. */
const Recording_ = z.strictObject({
  /** Where it comes from, for people. */
  provenance: z.strictObject({ cluster: z.enum(['real', 'lab', 'simulated']), date: z.iso.date() }),
  talosVersion: z.string(),
  /** Whether the Kubernetes material is in the documents of Talos 1.14 or in the fields of before. */
  shape: z.enum(['legacy', 'typed']),
  machines: z.array(z.strictObject({ name: z.string(), role: z.enum(['controlplane', 'worker']) })),
  options: z.strictObject({
    targets: z.array(z.enum(CA_TARGETS)),
    restartWorkloads: z.enum(['Never', 'Rolling']),
    previousBundle: z.enum(['Archive', 'Remove']),
  }),
  /** Facts that its recorder could not find out, by name, and why: they stand as `?` in it and are not compared. */
  lacks: z.record(z.string(), z.string()).optional(),
  /** Facts of every machine before the first effect. Absent, like all that is seen of machines, in one out of a trail. */
  before: z.record(z.string(), Facts).optional(),
  /** What moved on a machine before the first effect on it; empty unless somebody else was at it. */
  beforehand: z.record(z.string(), z.array(z.string())).optional(),
  steps: z.array(Step),
  end: End.optional(),
});

/**
 * One rotation as it was: what was done in which order, what that moved, and how
 * it ended. It holds names and roles (`old`, `new`), and neither certificates nor
 * fingerprints nor any byte of a key.
 */
export type Recording = z.infer<typeof Recording_>;

/** See the schema of the same name. */
export type RecordedStep = z.infer<typeof Step>;

/** See the schema of the same name. */
export type RecordedEnd = z.infer<typeof End>;

/** One whose machines were watched. */
export type WatchedRecording = Recording & {
  readonly [Part in 'before' | 'beforehand' | 'end']: NonNullable<Recording[Part]>;
};

/** See the schema of the same name. */
export type Facts = Readonly<z.infer<typeof Facts>>;

/** Reads a recording. Throws where it is none, naming the file and the field. */
export function parseRecording(text: string, where: string): Recording {
  const read = Recording_.safeParse(JSON.parse(text));
  if (read.success) return read.data;
  throw new Error(`${where} is no recording of a rotation: ${z.prettifyError(read.error)}`);
}

/** As it is kept in a file, to be read by people and as the formatter leaves it: whatever fits into a line is on one. */
export function writeRecording(recording: Recording): string {
  return `${layOut(Recording_.parse(recording), '', 0)}\n`;
}

const LINE_WIDTH = 120;

/** `taken`: what stands on the line already, and after the value. */
function layOut(value: unknown, indent: string, taken: number): string {
  const flat = JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return flat;
  const isList = Array.isArray(value);
  const entries = Object.entries(value).map(
    ([name, each]) => [isList ? '' : `${JSON.stringify(name)}: `, each] as const,
  );
  if (entries.length === 0) return flat;
  const [open, close] = isList ? ['[', ']'] : ['{ ', ' }'];
  const line = `${open}${entries.map(([name, each]) => name + layOut(each, '', Number.NEGATIVE_INFINITY)).join(', ')}${close}`;
  if (indent.length + taken + line.length <= LINE_WIDTH) return line;
  const inner = `${indent}  `;
  const lines = entries.map(([name, each]) => `${inner}${name}${layOut(each, inner, name.length + 1)}`);
  return `${open.trim()}\n${lines.join(',\n')}\n${indent}${close.trim()}`;
}

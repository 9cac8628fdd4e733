/**
 * The exit codes of `ichor`: documented, and never given another meaning. A
 * script may tell by them what to do next without reading a message.
 */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'done; or, of a dry run or a question, answered' },
  internal: { code: 1, meaning: 'a mistake in ichor itself; please report it' },
  usage: { code: 2, meaning: 'the command line is wrong; nothing was done' },
  declined: { code: 3, meaning: 'a question was answered with no, or could not be asked; nothing was done' },
  refused: {
    code: 4,
    meaning: 'the cluster or the operation is not in a state in which this may be done; nothing was done',
  },
  handoff: {
    code: 5,
    meaning: 'the rotation waits until the new credentials are taken: ichor cluster credentials --acknowledge',
  },
  directory: { code: 6, meaning: 'the cluster directory, or a file in it, cannot be used as it is' },
  unreachable: { code: 7, meaning: 'a machine or an API server did not answer, or did not do what was asked' },
  locked: { code: 8, meaning: 'another process works on this cluster directory' },
  'not-found': { code: 9, meaning: 'no operation of that name' },
  abandoned: {
    code: 10,
    meaning:
      'somebody deleted the operation that was followed: the rotation was abandoned, the old certificate authorities stay',
  },
  detached: { code: 130, meaning: 'interrupted (Ctrl-C); the rotation stands safely, run the command again to go on' },
} as const satisfies Record<string, { readonly code: number; readonly meaning: string }>;

/** The name of one way in which `ichor` ends. */
export type ExitName = keyof typeof EXIT_CODES;

/** The number that the shell sees. */
export function exitCode(name: ExitName): number {
  return EXIT_CODES[name].code;
}

/** The table as `ichor exit-codes` prints it, one line each, without a final newline. */
export function exitCodeTable(): string {
  return Object.values(EXIT_CODES)
    .map(({ code, meaning }) => `${String(code).padStart(4)}  ${meaning}`)
    .join('\n');
}

import { importsOf, type Source, withoutComments } from './sources.ts';

/** What the pure core may not touch, and what to use instead. */
const BANNED: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  {
    pattern: /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bperformance\b/,
    instead: 'time is in the observation (observation.now)',
  },
  {
    pattern: /\bMath\.random\b|\bcrypto\b|\brandomBytes\b|\brandomUUID\b/,
    instead: 'new material comes from the shell, through the record',
  },
  { pattern: /\bprocess\b/, instead: 'pass settings as parameters' },
  {
    pattern: /\bset(?:Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/,
    instead: 'waiting is a value: return a wait decision with recheckAfterMs',
  },
  { pattern: /\bfetch\b|\bconsole\b/, instead: 'effects go through the ports of the shell' },
  { pattern: /\bawait\b|\basync\b|\bPromise\b/, instead: 'the core is synchronous' },
];

/** Every use of time, randomness, environment, files, network or timers in the given sources. */
export function purityViolations(sources: readonly Source[]): string[] {
  const violations: string[] = [];
  for (const source of sources) {
    for (const imported of importsOf(source)) {
      if (imported.startsWith('node:')) {
        violations.push(`${source.path}: imports ${imported}; the pure core imports no Node module`);
      }
    }
    const lines = withoutComments(source.text).split('\n');
    for (const [index, line] of lines.entries()) {
      for (const { pattern, instead } of BANNED) {
        const found = pattern.exec(line.replaceAll(/'(?:[^'\\]|\\.)*'|`[^`]*`/g, "''"));
        if (found) violations.push(`${source.path}:${index + 1}: uses ${found[0]}; ${instead}`);
      }
    }
  }
  return violations;
}

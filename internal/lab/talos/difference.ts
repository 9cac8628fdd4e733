/** Lines around a change that a difference shows. */
const CONTEXT = 3;

/** What changed between two texts, as one hunk of a unified difference; `No changes.` where nothing did. */
export function differenceOf(before: string, after: string): string {
  if (before === after) return 'No changes.';
  const [old, now] = [before.split('\n'), after.split('\n')];
  const shortest = Math.min(old.length, now.length);
  let head = 0;
  while (head < shortest && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shortest - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const from = Math.max(0, head - CONTEXT);
  const shown = (lines: readonly string[]): number => lines.length - tail - from + Math.min(tail, CONTEXT);
  const common = (lines: readonly string[]): string[] => lines.map((line) => ` ${line}`);
  return [
    '--- a',
    '+++ b',
    `@@ -${from + 1},${shown(old)} +${from + 1},${shown(now)} @@`,
    ...common(old.slice(from, head)),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...common(old.slice(old.length - tail, old.length - tail + CONTEXT)),
    '',
  ].join('\n');
}

import type { BenchRow } from './pki.ts';

/** Rows as a Markdown table, each value beside its reference. */
export function tableOfRows(rows: readonly BenchRow[]): string {
  const lines = rows.map(
    ({ name, value, unit, reference, ratio }) =>
      `| ${name} | ${value.toFixed(1)} ${unit} | ${reference.toFixed(1)} ${unit} | ${ratio.toFixed(2)} |`,
  );
  return `${['| what | measured | reference | ratio |', '| --- | --- | --- | --- |', ...lines].join('\n')}\n`;
}

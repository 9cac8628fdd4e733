/** One number that the search, the lab or the tests are held to. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Absent where nothing is asked of it, and it is only shown. */
  readonly asked?: { readonly atLeast: number } | { readonly atMost: number };
}

/** Whether a figure is what is asked of it. */
export function holds({ value, asked }: Figure): boolean {
  if (asked === undefined) return true;
  return 'atLeast' in asked ? value >= asked.atLeast : value <= asked.atMost;
}

/** Figures as a Markdown table; what falls short is said in its row. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { name, value, unit, asked } = figure;
    const shown = `${number(value)}${unit === '' ? '' : ` ${unit}`}`;
    if (asked === undefined) return `| ${name} | ${shown} | | |`;
    const limit = 'atLeast' in asked ? `at least ${number(asked.atLeast)}` : `at most ${number(asked.atMost)}`;
    return `| ${name} | ${shown} | ${limit} | ${holds(figure) ? 'yes' : 'no'} |`;
  });
  return ['| figure | measured | asked | holds |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** Three digits are as many as two runs share; counts are whole. */
function number(value: number): string {
  return value.toLocaleString('en', Number.isInteger(value) ? {} : { maximumSignificantDigits: 3 });
}

import { styleText } from 'node:util';
import { type Cell, COLUMNS, type Picture, type StageMark } from './picture.ts';

/** How a picture is written. */
export interface RenderOptions {
  readonly columns: number;
  /** How many lines the terminal has; absent where there is no end to them. */
  readonly rows?: number | undefined;
  readonly color: boolean;
  readonly elapsedMs: number;
  /** `undefined` while nothing can be said. */
  readonly leftMs: number | undefined;
}

type Style = Parameters<typeof styleText>[0];

const CELLS: Readonly<Record<Cell, { readonly text: string; readonly style: Style }>> = {
  todo: { text: '·', style: 'dim' },
  told: { text: '◐ proving', style: 'cyan' },
  draining: { text: '▽ draining', style: 'yellow' },
  rebooting: { text: '↻ rebooting', style: 'yellow' },
  done: { text: '✓', style: 'green' },
  foreign: { text: '! foreign', style: 'red' },
  unknown: { text: '? no answer', style: 'red' },
};

const STAGE_TEXT: Readonly<Record<StageMark['stage'], string>> = {
  Accepting: 'Accepting',
  AwaitingCredentials: 'Hand-off',
  Issuing: 'Issuing',
  Dropping: 'Dropping',
  Finalizing: 'Finalizing',
};

const MARKS: Readonly<Record<StageMark['state'], { readonly text: string; readonly style: Style }>> = {
  done: { text: '✓', style: 'green' },
  current: { text: '●', style: 'cyan' },
  todo: { text: '·', style: 'dim' },
};

const CELL_WIDTH = 13;

/** Lines of a picture that are no machines: the operation, the stages, the heading, the message, and two that are empty. */
const FRAME = 6;

/** The picture as lines that fit the terminal: what wraps or scrolls away would be left behind when it is drawn again. */
export function renderPicture(picture: Picture, options: RenderOptions): string[] {
  const { columns } = options;
  const paint = painter(options.color);
  const width = Math.max(...picture.rows.map((row) => row.machine.length), 7);
  const shown = shownRows(picture.rows, options.rows === undefined ? undefined : options.rows - 1 - FRAME);
  return [
    clip(`${picture.operation}: ${picture.targets.join(', ')}  ${times(options)}`, columns),
    line(
      picture.stages.map(({ stage, state }) => [`${MARKS[state].text} ${STAGE_TEXT[stage]}`, MARKS[state].style]),
      { columns, paint, gap: '  ' },
    ),
    '',
    clip(`${''.padEnd(width)}  ${COLUMNS.map((column) => column.padEnd(CELL_WIDTH)).join('')}`.trimEnd(), columns),
    ...shown.rows.map((row) => {
      const cells = COLUMNS.map((column, index): Part => {
        const { text, style } = CELLS[row.cells[column]];
        return [index === COLUMNS.length - 1 ? text : text.padEnd(CELL_WIDTH), style];
      });
      return line([[`${clip(row.machine, width).padEnd(width)}  `, 'reset'], ...cells], { columns, paint, gap: '' });
    }),
    ...(shown.more === '' ? [] : [clip(shown.more, columns)]),
    '',
    paint(
      clip(`${picture.isBlocked ? 'blocked: ' : ''}${picture.message}`, columns),
      picture.isBlocked ? 'red' : 'reset',
    ),
  ];
}

/** As many machines as there is room for, in their order: those that something happens on before those that wait or are done. */
function shownRows(rows: Picture['rows'], room: number | undefined): { rows: Picture['rows']; more: string } {
  if (room === undefined || rows.length <= room) return { rows, more: '' };
  const byInterest = [...rows].sort((a, b) => interestOf(a) - interestOf(b));
  const chosen = new Set(byInterest.slice(0, Math.max(room - 1, 1)));
  const hidden = rows.length - chosen.size;
  return {
    rows: rows.filter((row) => chosen.has(row)),
    more: `… and ${hidden} more ${hidden === 1 ? 'machine' : 'machines'}`,
  };
}

/** Smaller for what is looked at first. */
function interestOf({ cells }: Picture['rows'][number]): number {
  const all = COLUMNS.map((column) => cells[column]);
  if (all.some((cell) => cell !== 'todo' && cell !== 'done')) return 0;
  return all.every((cell) => cell === 'done') ? 2 : 1;
}

/** Text and its style. */
type Part = readonly [text: string, style: Style];

/** Parts beside each other, cut where the terminal ends. */
function line(
  parts: readonly Part[],
  { columns, paint, gap }: { columns: number; paint: (text: string, style: Style) => string; gap: string },
): string {
  const whole = parts
    .map(([text]) => text)
    .join(gap)
    .trimEnd();
  const end = whole.length <= columns ? whole.length : Math.max(columns - 1, 0);
  let at = 0;
  const painted = parts.map(([text, style], index) => {
    const before = index === 0 ? '' : gap.slice(0, Math.max(end - at, 0));
    at += index === 0 ? 0 : gap.length;
    const kept = text.slice(0, Math.max(end - at, 0));
    at += text.length;
    return `${before}${kept === '' ? '' : paint(kept, style)}`;
  });
  return `${painted.join('')}${end < whole.length ? '…' : ''}`;
}

function painter(color: boolean): (text: string, style: Style) => string {
  return (text, style) => (color ? styleText(style, text, { validateStream: false }) : text);
}

function times({ elapsedMs, leftMs }: RenderOptions): string {
  const elapsed = `${duration(elapsedMs)} so far`;
  return leftMs === undefined ? elapsed : `${elapsed}, about ${duration(leftMs)} left`;
}

/** `42 s`, `3 min 10 s`, `1 h 5 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A line that does not wrap: a wrapped one would be left behind when the picture is drawn again. */
function clip(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(columns - 1, 0))}…`;
}

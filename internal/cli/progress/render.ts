import { styleText } from 'node:util';
import { type Cell, COLUMNS, type Picture, type StageMark } from './picture.ts';

/** How a picture is written. */
export interface RenderOptions {
  readonly columns: number;
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

/** The picture as lines that fit the terminal. */
export function renderPicture(picture: Picture, options: RenderOptions): string[] {
  const paint = painter(options.color);
  const width = Math.max(...picture.rows.map((row) => row.machine.length), 7);
  return [
    clip(`${picture.operation}: ${picture.targets.join(', ')}  ${times(options)}`, options.columns),
    picture.stages
      .map(({ stage, state }) => paint(`${MARKS[state].text} ${STAGE_TEXT[stage]}`, MARKS[state].style))
      .join('  '),
    '',
    clip(
      `${''.padEnd(width)}  ${COLUMNS.map((column) => column.padEnd(CELL_WIDTH)).join('')}`.trimEnd(),
      options.columns,
    ),
    ...picture.rows.map((row) => {
      const cells = COLUMNS.map((column) => {
        const { text, style } = CELLS[row.cells[column]];
        return paint(text.padEnd(CELL_WIDTH), style);
      });
      return `${clip(row.machine, width).padEnd(width)}  ${cells.join('')}`.trimEnd();
    }),
    '',
    paint(
      clip(`${picture.isBlocked ? 'blocked: ' : ''}${picture.message}`, options.columns),
      picture.isBlocked ? 'red' : 'reset',
    ),
  ];
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

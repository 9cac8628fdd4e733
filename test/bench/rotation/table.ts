import type { OurFigures, RotationBenchmark, RotationFigures } from './result.ts';

/** One line of the table: what it is, what each rotation showed, and what it is held against. */
interface Line {
  readonly what: string;
  readonly ours: (figures: OurFigures) => string;
  readonly theirs?: (figures: RotationFigures) => string;
  readonly must?: string;
  readonly aim?: string;
}

const LINES: readonly Line[] = [
  { what: 'wall', ours: ({ wallMs }) => seconds(wallMs), theirs: ({ wallMs }) => seconds(wallMs) },
  {
    what: 'wall to healthy again',
    ours: ({ healthyMs }) => seconds(healthyMs),
    theirs: ({ healthyMs }) => seconds(healthyMs),
  },
  { what: 'floor', ours: ({ floor }) => seconds(floor.totalMs) },
  {
    what: '… made of',
    ours: ({ floor }) => floorText(floor),
  },
  { what: 'wall ÷ floor', ours: ({ ratio }) => ratio.toFixed(2), must: '≤ 1.5', aim: '1.10' },
  { what: '… without the settles on both sides', ours: (figures) => figures.ratioWithoutSettles.toFixed(2) },
  ...clientLines(),
  { what: 'reboots', ours: ({ reboots }) => rebootsText(reboots), must: '6 for etcd on three control planes' },
  { what: 'reboots skipped after Issuing', ours: skipsText, must: 'each with its probe' },
  { what: "engine's CPU", ours: ({ cpuMs }) => seconds(cpuMs), must: '≤ 60 s' },
  {
    what: 'resident memory at most',
    ours: ({ peakRssBytes }) => `${Math.round(peakRssBytes / 1e6)} MB`,
    must: '≤ 150 MB',
  },
  { what: 'time in each stage', ours: stagesText },
];

/** The result as a Markdown table, with what was measured for the floor below it. */
export function tableOf(result: RotationBenchmark): string {
  const { ours, talosctl, measured } = result;
  const head = ['', ...ours.map(({ name }) => name), talosctl.name, 'must', 'aim'];
  const rows = LINES.map((line) => [
    line.what,
    ...ours.map((figures) => line.ours(figures)),
    line.theirs?.(talosctl) ?? '',
    line.must ?? '',
    line.aim ?? '',
  ]);
  return [
    row(head),
    row(head.map(() => '---')),
    ...rows.map(row),
    '',
    `Boots to healthy: ${measured.boots.map(seconds).join(', ')}. API-server restarts: ${measured.apiServerRestarts.map(seconds).join(', ')}. ${result.controlPlanes} control planes, ${result.workers} workers.`,
    '',
  ].join('\n');
}

function clientLines(): Line[] {
  const line = (what: string, text: (figures: RotationFigures) => string, held: Pick<Line, 'must' | 'aim'>): Line => ({
    what,
    ours: text,
    theirs: text,
    ...held,
  });
  return [
    line('requests', ({ clients }) => String(clients.requests), { must: '≥ 10,000' }),
    line('failed requests', ({ clients }) => String(clients.failed), { must: '0', aim: '0' }),
    line('first attempts that failed', ({ clients }) => String(clients.retried), {}),
    line('longest stall of a client', ({ clients }) => seconds(clients.longestStallMs), { aim: '≤ 1 s' }),
    line('moments without any API server', ({ clients: { allDown } }) => outageText(allDown), { must: '0' }),
    line('lost writes', ({ clients }) => String(clients.lostWrites), { must: '0' }),
  ];
}

function outageText({ times, totalMs }: RotationFigures['clients']['allDown']): string {
  return times === 0 ? '0' : `${times} (${seconds(totalMs)})`;
}

function floorText(floor: OurFigures['floor']): string {
  const boots = floor.boots === 0 ? [] : [`${floor.boots} boots × ${seconds(floor.bootMs)}`];
  const restarts = `${floor.apiServerRestarts} API-server restarts × ${seconds(floor.apiServerRestartMs)}`;
  return [...boots, restarts, `settles ${seconds(floor.settlesMs)}`].join(', ');
}

function rebootsText(reboots: OurFigures['reboots']): string {
  const rebooted = Object.entries(reboots).filter(([, times]) => times > 0);
  const total = rebooted.reduce((sum, [, times]) => sum + times, 0);
  return total === 0 ? '0' : `${total}: ${rebooted.map(([name, times]) => `${name} ${times}`).join(', ')}`;
}

function skipsText({ skips }: OurFigures): string {
  return skips
    .map(({ machine, ports }) => {
      const served = Object.entries(ports).map(([port, issuer]) => `${port}: ${issuer} CA`);
      return `${machine} (${served.join(', ')})`;
    })
    .join('; ');
}

function stagesText({ stages, wallMs }: OurFigures): string {
  const ends = [...stages, { stage: 'the end', ms: wallMs }];
  return ends.map(({ stage, ms }, index) => `${stage} ${seconds(ms - (ends[index - 1]?.ms ?? 0))}`).join(', ');
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CHECKERS, createFleetCluster, createMint, run as rotate } from '../../internal/simulator/index.ts';
import { plain, TARGET_SETS } from '../simulation/scenarios.ts';
import type { BenchRow } from './pki.ts';

/** The goal: rotations of three control planes and two workers, a second on one core. */
const ROTATIONS_GOAL = 300;
/** Resident memory at 1,000 clusters, MiB. */
const MEMORY_GOAL = 1024;
const LOOKS_EACH = 12;

/** Rotations and looks a second of processor time, and what many clusters under one process cost. */
export async function run(): Promise<BenchRow[]> {
  return [...(await rotations(['talos'], 90)), ...(await rotations(TARGET_SETS.at(-1) ?? [], 18)), ...fleets()];
}

/** A third as many rotations come first, unmeasured: until then Node mostly compiles. */
async function rotations(targets: (typeof TARGET_SETS)[number], rounds: number): Promise<BenchRow[]> {
  const mint = await createMint(2);
  for (let seed = 1_000; seed < 1_000 + rounds / 3; seed += 1)
    await rotate(plain('3+2', targets, seed), { mint, checkers: CHECKERS });
  const before = process.cpuUsage();
  let looks = 0;
  for (let seed = 1; seed <= rounds; seed += 1) {
    const result = await rotate(plain('3+2', targets, seed), { mint, checkers: CHECKERS });
    if (result.end !== 'done') throw new Error(`seed ${seed} ended ${result.end}`);
    looks += result.looks;
  }
  const used = process.cpuUsage(before);
  const seconds = (used.user + used.system) / 1e6;
  const row = (name: string, value: number, unit: string, reference: number): BenchRow => ({
    name: `${name} of 3+2, ${targets.length === 1 ? targets[0] : 'all targets'}, every property asked`,
    value,
    unit,
    reference,
    ratio: value / reference,
  });
  return [
    row('simulated rotations', rounds / seconds, '1/s', ROTATIONS_GOAL),
    row('looks in simulated rotations', looks / seconds, '1/s', (ROTATIONS_GOAL * looks) / rounds),
  ];
}

interface Fleet {
  readonly residentMiB: number;
  readonly looksASecond: number;
}

/** Each size in a process of its own, so that the memory of one does not count for the next. */
function fleets(): BenchRow[] {
  return [10, 100, 1_000].flatMap((clusters): BenchRow[] => {
    const program = fileURLToPath(import.meta.url);
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', program, String(clusters)], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`the fleet of ${clusters} ended with ${status}: ${stderr}`);
    const { residentMiB, looksASecond } = JSON.parse(stdout) as Fleet;
    const name = `${clusters} clusters of 3+1 under one process`;
    const memory = { value: residentMiB, unit: 'MiB', reference: MEMORY_GOAL, ratio: residentMiB / MEMORY_GOAL };
    return [
      { name: `resident memory, ${name}`, ...memory },
      { name: `reconciles, ${name}`, value: looksASecond, unit: '1/s', reference: looksASecond, ratio: 1 },
    ];
  });
}

/** Looks at every cluster in turn; their CAs and configurations are the same, their states are not. */
async function fleet(clusters: number): Promise<Fleet> {
  const mint = await createMint(2);
  const all = Array.from({ length: clusters }, (_, index) =>
    createFleetCluster({ seed: index + 1, controlPlanes: 3, workers: 1, targets: ['talos'], mint }),
  );
  const before = process.cpuUsage();
  let looks = 0;
  for (let round = 0; round < LOOKS_EACH; round += 1) {
    for (const cluster of all) {
      await cluster.step();
      looks += 1;
    }
  }
  const used = process.cpuUsage(before);
  globalThis.gc?.();
  const residentMiB = Math.round(process.memoryUsage().rss / 2 ** 20);
  return { residentMiB, looksASecond: Math.round(looks / ((used.user + used.system) / 1e6)) };
}

const [, program, size] = process.argv;
if (program === fileURLToPath(import.meta.url)) {
  process.stdout.write(JSON.stringify(await fleet(Number(size))));
}

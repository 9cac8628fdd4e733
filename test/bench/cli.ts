import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builtIchor } from '../support/built-ichor.ts';

/** One number beside what it is held against. */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly reference: number;
  readonly ratio: number;
}

const ROUNDS = 21;

/** How long `ichor version` takes from start to end, built, against a Node that does nothing. */
export async function run(): Promise<BenchRow[]> {
  const program = await builtIchor();
  const bare: number[] = [];
  const ours: number[] = [];
  // One after the other, so that both see the same load.
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(time(['--eval', '0']));
    ours.push(time([program, 'version']));
  }
  const [value, reference] = [median(ours), median(bare)];
  return [{ name: 'start of ichor', value, unit: 'ms', reference, ratio: value / reference }];
}

function time(args: readonly string[]): number {
  const begin = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [...args], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`);
  return performance.now() - begin;
}

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

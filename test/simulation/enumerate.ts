import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CHECKERS, createMint, run } from '../../internal/simulator/index.ts';
import { enumeration, type Part, partsOf, type Shard, shareOf } from './enumeration.ts';
import { failuresOf } from './verdict.ts';

/** What came of an enumeration, or of one process's share of it. */
export interface Score {
  plans: number;
  /** Faults that happened; a plan whose faults did not all happen fails. */
  fired: number;
  looks: number;
  /** Scenarios that failed, and how. */
  failures: string[];
  processorMs: number;
  /** Whether the time was over before the plans were. */
  isCut: boolean;
  /** Whether a part that may end early did. */
  endedEarly: boolean;
}

/** What is gone through. */
export interface EnumerateOptions {
  readonly parts: readonly Part[];
  readonly seed: number;
  /** Until when plans are begun, in seconds from now. */
  readonly seconds: number;
  /** Until when plans of parts that may end early are begun; absent: as of all others. */
  readonly secondsForTheRest?: number;
}

/** Goes through one shard's plans in this process. */
export async function enumerateShard(options: EnumerateOptions, shard: Shard): Promise<Score> {
  const { parts, seed, seconds, secondsForTheRest } = options;
  // Every machine that is away is an error with a stack that nobody reads here.
  Error.stackTraceLimit = 0;
  const begunAt = performance.now();
  const isAfter = (end: number): boolean => performance.now() > begunAt + end * 1_000;
  const mint = await createMint(2);
  const score: Score = {
    ...{ plans: 0, fired: 0, looks: 0, failures: [], processorMs: 0 },
    isCut: false,
    endedEarly: false,
  };
  for (const part of parts) {
    for await (const scenario of enumeration([part], { mint, seed, shard })) {
      score.isCut = isAfter(seconds);
      const isEnough = part.mayEndEarly === true && secondsForTheRest !== undefined && isAfter(secondsForTheRest);
      if (isEnough) score.endedEarly = true;
      if (score.isCut || isEnough) break;
      const result = await run(scenario, { mint, checkers: CHECKERS });
      const failures = failuresOf(scenario, result);
      score.plans += 1;
      score.fired += result.fired.length;
      score.looks += result.looks;
      if (failures.length > 0) score.failures.push(`${failures.join('; ')}: ${JSON.stringify(scenario)}`);
    }
    if (score.isCut) break;
  }
  score.processorMs = Math.round(process.cpuUsage().user / 1_000);
  return score;
}

/** Goes through all of it, one process for each processor. */
export async function enumerateAll(options: EnumerateOptions, processes = availableParallelism()): Promise<Score> {
  const shards = Array.from({ length: processes }, (_, index) => ({ index, of: processes }));
  const scores = await Promise.all(shards.map((shard) => inProcess(options, shard)));
  return {
    plans: sum(scores, (each) => each.plans),
    fired: sum(scores, (each) => each.fired),
    looks: sum(scores, (each) => each.looks),
    failures: scores.flatMap((each) => each.failures),
    processorMs: sum(scores, (each) => each.processorMs),
    isCut: scores.some((each) => each.isCut),
    endedEarly: scores.some((each) => each.endedEarly),
  };
}

function sum(scores: readonly Score[], of: (score: Score) => number): number {
  return scores.reduce((total, score) => total + of(score), 0);
}

function inProcess(options: EnumerateOptions, shard: Shard): Promise<Score> {
  const { promise, resolve, reject } = Promise.withResolvers<Score>();
  const child = spawn(
    process.execPath,
    [fileURLToPath(import.meta.url), '--shard', JSON.stringify(shard), '--options', JSON.stringify(options)],
    // Open for as long as this process lives: a shard ends with the one who asked for it.
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.on('error', reject).on('close', (code) => {
    if (code === 0) resolve(JSON.parse(output) as Score);
    else reject(new Error(`shard ${shard.index} of ${shard.of} ended with ${code}`));
  });
  return promise;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '3600' },
      /** The same for the parts that may end early. */
      'seconds-for-the-rest': { type: 'string' },
      /** All of these topologies instead of the complete enumeration, as in `1+1,5+0`. */
      topology: { type: 'string' },
      /** Of these topologies: the `usual` sets of targets, the `other` ones, or `every` one. */
      'target-sets': { type: 'string', default: 'usual' },
      /** Share of the plans, from 0 to 1. */
      share: { type: 'string', default: '1' },
      processes: { type: 'string', default: String(availableParallelism()) },
      shard: { type: 'string' },
      options: { type: 'string' },
      /** Ends when standard input does, that is with whoever started it in the background. */
      'while-open': { type: 'boolean', default: false },
    },
  });
  const isWatched = values['while-open'] || values.shard !== undefined;
  if (isWatched) process.stdin.on('end', () => process.exit(1)).resume();
  if (values.shard !== undefined && values.options !== undefined) {
    const score = await enumerateShard(JSON.parse(values.options), JSON.parse(values.shard));
    process.stdout.write(JSON.stringify(score));
  } else {
    const rest = values['seconds-for-the-rest'];
    const score = await enumerateAll(
      {
        parts: shareOf(partsOf(values.topology, values['target-sets']), Number(values.share)),
        seed: Number(values.seed),
        seconds: Number(values.seconds),
        ...(rest === undefined ? {} : { secondsForTheRest: Number(rest) }),
      },
      Number(values.processes),
    );
    const { failures, ...numbers } = score;
    process.stdout.write(`${[...failures, JSON.stringify(numbers)].join('\n')}\n`);
    process.exitCode = failures.length === 0 && !score.isCut ? 0 : 1;
  }
  if (isWatched) process.stdin.destroy();
}

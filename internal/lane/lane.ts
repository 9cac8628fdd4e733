import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { openBundle, type SecretsBundle } from '../../pkg/bundle/index.ts';
import { createSystemClock } from '../../pkg/clock/index.ts';
import { makeFolder } from '../../pkg/files/index.ts';
import { Secret } from '../../pkg/pki/index.ts';
import { readAudit } from './audit.ts';
import { createConnections } from './connections.ts';
import { createIchor } from './ichor.ts';
import type { LaneContext, LaneReport, Power, Step } from './model.ts';
import type { LaneOptions } from './options.ts';
import { createReadings, listMachines } from './read-cluster.ts';
import { assertNoSecrets, reportText } from './report.ts';
import { runLane } from './run.ts';
import { STEPS } from './steps/index.ts';

/** How the lane ends, as an exit code. */
export const LANE_EXIT = { passed: 0, failed: 1, incomplete: 3 } as const satisfies Record<
  LaneReport['outcome'],
  number
>;

/**
 * Runs the lane on the cluster of a directory and writes its report there.
 *
 * @param command how `ichor` is started
 * @returns the report, and the files that it was written to
 */
export async function laneOn(
  options: LaneOptions,
  command: readonly [string, ...string[]],
): Promise<{ readonly report: LaneReport; readonly files: readonly string[] }> {
  const clock = createSystemClock();
  const directory = resolve(options.directory);
  const stamp = new Date(clock.now()).toISOString().replaceAll(/[-:]/g, '').slice(0, 15);
  const reports = resolve(options.reports ?? join(directory, `lane-${stamp}`));
  const openFile = bundleReader(options);
  const bundle = (path = join(directory, 'secrets.yaml')): Promise<SecretsBundle> => openFile(path);
  // Before anything is made: a directory that cannot be opened is said at once.
  const secrets = [await bundle()];
  await makeFolder(reports);
  const also = options.identity === undefined ? [] : ['--identity', resolve(options.identity)];
  const ichor = createIchor({ command, directory, also });
  using connections = createConnections(directory, clock);
  const machines = await listMachines(directory, connections);
  const ask = process.stdin.isTTY ? askPerson : undefined;
  const context: LaneContext = {
    directory,
    reports,
    machines,
    readings: createReadings(machines, connections, clock),
    ichor,
    clock,
    audit: () => readAudit(directory),
    bundle,
    power: powerOf(options),
    ask,
    say: (line) => process.stdout.write(`${line}\n`),
    memory: {},
  };
  const report = await runLane({
    context,
    steps: STEPS.filter((step) => options.only?.includes(step.id) ?? true),
    ichorVersion: await versionOf(command),
    consent: async (step) => options.yes || (ask !== undefined && (await ask(questionFor(step)))),
  });
  secrets.push(await bundle());
  const files = await writeReport(report, reports, secrets);
  return { report, files };
}

/** Opens bundles with what the command line gives; asks nothing. */
function bundleReader(options: LaneOptions): (path: string) => Promise<SecretsBundle> {
  return async (path) => {
    const passphrase = process.env.ICHOR_PASSPHRASE;
    const bytes = await readFile(path).catch((cause: NodeJS.ErrnoException) => {
      const found = cause.code === 'ENOENT' ? 'is not there' : `cannot be read (${cause.code})`;
      throw new Error(`${path} ${found}; --dir names a cluster directory, which holds secrets.yaml and talosconfig`, {
        cause,
      });
    });
    const { bundle } = await openBundle(bytes, {
      path,
      ...(passphrase === undefined ? {} : { passphrase: Secret.of('passphrase', passphrase) }),
      ...(options.identity === undefined
        ? {}
        : { identity: Secret.of('age-identity', await readFile(options.identity, 'utf8')) }),
    });
    return bundle;
  };
}

async function writeReport(
  report: LaneReport,
  folder: string,
  bundles: readonly SecretsBundle[],
): Promise<readonly string[]> {
  const texts = { 'report.json': `${JSON.stringify(report, null, 2)}\n`, 'report.md': reportText(report) };
  const secrets = bundles.flatMap((each) => [each.clusterSecret, each.bootstrapToken, each.trustdToken]);
  const files: string[] = [];
  for (const [name, text] of Object.entries(texts)) {
    assertNoSecrets(
      text,
      secrets.map((secret) => secret.expose()),
    );
    const path = join(folder, name);
    await writeFile(path, text, { mode: 0o600 });
    files.push(path);
  }
  return files;
}

function questionFor(step: Step): string {
  return `${step.id}: ${step.title}. It ${step.disturbs}. Go on?`;
}

async function askPerson(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}

function powerOf({ powerOff, powerOn }: LaneOptions): Power | undefined {
  if (powerOff === undefined || powerOn === undefined) return undefined;
  return { off: (machine) => shell(powerOff, machine), on: (machine) => shell(powerOn, machine) };
}

/** Its output goes to ours, so that whoever watches sees what it says. */
function shell(command: string, machine: string): Promise<void> {
  return new Promise((done, failed) => {
    const child = spawn('sh', ['-c', command, 'lane', machine], { stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', failed);
    child.on('close', (code) =>
      code === 0 ? done() : failed(new Error(`"${command}" for ${machine} ended with ${code}`)),
    );
  });
}

async function versionOf(command: readonly [string, ...string[]]): Promise<string> {
  const [program, ...first] = command;
  return new Promise((done, failed) => {
    const child = spawn(program, [...first, 'version'], { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    child.on('error', (cause) => failed(new Error(`cannot run ${program}: ${cause.message}`, { cause })));
    child.on('close', () => done(text.trim().replace(/^ichor /, '')));
  });
}

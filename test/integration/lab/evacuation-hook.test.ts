import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtIchor } from '../../support/built-ichor.ts';
import { folderOf, type PrivateFolder } from '../../support/folder.ts';
import { type RunResult, run } from '../../support/run.ts';

/**
 * What each call of the hook does, in order; those after the last are done at once. `paused` is done, and has paused the
 * rotation before: nothing further happens until it is continued. `broken` fails until the test has mended it.
 */
type Behaviour = 'not-yet' | 'paused' | 'broken' | 'hangs' | 'done';

/** A hook that writes down what it was asked, and how its Node stood then by the kubeconfig that it was pointed to. */
const HOOK = `
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require('node:fs');
const { spawnSync } = require('node:child_process');
const { request } = require('node:https');
const { join } = require('node:path');
const [call, node] = process.argv.slice(2);
const at = (name) => join(__dirname, name);
const text = readFileSync(process.env.ICHOR_KUBECONFIG, 'utf8');
const field = (name) => new RegExp(name + ': *"?([^"\\\\s]+)').exec(text)[1];
const bytes = (name) => Buffer.from(field(name), 'base64');
const url = field('server') + '/api/v1/nodes/' + node;
const options = { cert: bytes('client-certificate-data'), key: bytes('client-key-data'), ca: bytes('certificate-authority-data') };
request(url, options, async (response) => {
  let body = '';
  for await (const chunk of response) body += chunk;
  const { spec, status } = JSON.parse(body);
  const line = { call, cordoned: spec.unschedulable === true, boot: status.nodeInfo.bootID, pid: process.pid };
  appendFileSync(at('asked'), JSON.stringify(line) + '\\n');
  const [behaviour, ...others] = JSON.parse(readFileSync(at('behaviours'), 'utf8'));
  if (behaviour !== 'broken' || existsSync(at('mended'))) writeFileSync(at('behaviours'), JSON.stringify(others));
  if (behaviour === 'not-yet') {
    console.log('\\u001b[31m2 volumes left');
    process.exit(75);
  }
  if (behaviour === 'broken' && !existsSync(at('mended'))) {
    console.error('no such volume');
    process.exit(1);
  }
  if (behaviour === 'hangs') return setInterval(() => {}, 1_000);
  if (behaviour === 'paused') spawnSync(process.execPath, [at('ichor.js'), 'operation', 'pause', '--dir', process.cwd()]);
}).end();
`;

interface Asked {
  readonly call: string;
  readonly cordoned: boolean;
  readonly boot: string;
  readonly pid: number;
}

describe('the evacuation hook of a rotation, on a lab', () => {
  let folder: PrivateFolder;
  let program: string;
  let directory: string;
  let hook: string;

  const env = () => ({ PATH: process.env.PATH, HOME: folder.path });
  const ichor = (...args: string[]): Promise<RunResult> =>
    run(process.execPath, [program, ...args, '--dir', directory], { env: env(), timeoutMs: 400_000 });
  const at = (name: string): string => join(folder.path, name);
  const lines = (path: string) =>
    existsSync(path)
      ? readFileSync(path, 'utf8')
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line))
      : [];
  const asked = (): Asked[] => lines(at('asked'));
  const calls = () => asked().map(({ call }) => call);

  /** What was done in a stage, in order, each run of the same once. */
  function effects(stage: string, operation: string): string[] {
    const trail = lines(join(directory, 'audit.jsonl')).filter((each) => each.operation === operation);
    const done = trail.filter((each) => each.stage === stage && each.phase === 'before').map((each) => each.effect);
    const around = ['evacuate', 'cordon', 'drain', 'reboot', 'readmit', 'uncordon', 'abandon'];
    return done.filter((each) => around.includes(each)).filter((each, index, all) => each !== all[index - 1]);
  }

  async function until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
    const end = performance.now() + 200_000;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      expect(performance.now(), `waited too long until ${what}`).toBeLessThan(end);
      await pause(100);
    }
  }

  /** What the operation says while it stands so, with such a message. */
  const stands = (reason: string, message = /./) =>
    until(`it stands at ${reason}`, async () => {
      const { code, stdout } = await ichor('operation', 'explain', '--stored', '-o', 'json');
      const explained = code === 0 ? JSON.parse(stdout) : undefined;
      return explained?.reason === reason && message.test(explained.message) ? explained : undefined;
    });

  /** A rotation of the etcd CA in a process of its own. */
  function rotating(...args: string[]): { child: ChildProcess; ended: Promise<number | null>; printed: () => string } {
    const words = ['cluster', 'rotate-ca', '--ca', 'etcd', '--yes', '--follow', '--dir', directory, ...args];
    const child = spawn(process.execPath, [program, ...words], { env: env(), stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        text += chunk;
      });
    const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)));
    return { child, ended, printed: () => text };
  }

  async function behave(...behaviours: Behaviour[]): Promise<void> {
    await writeFile(at('behaviours'), JSON.stringify(behaviours));
    await writeFile(at('asked'), '');
  }

  beforeAll(async () => {
    folder = await folderOf({});
    program = await builtIchor();
    directory = at('lab');
    hook = at('hook.cjs');
    await writeFile(hook, `#!${process.execPath}\n${HOOK}`);
    await chmod(hook, 0o700);
    await writeFile(at('ichor.js'), `import ${JSON.stringify(program)};\n`);
    await writeFile(at('package.json'), '{"type": "module"}');
    await mkdir(directory, { mode: 0o700 });
    const size = ['--control-planes', '1', '--workers', '0', '--boot-seconds', '1'];
    const up = await run(process.execPath, [program, 'lab', 'up', directory, ...size], { env: env() });
    expect(up.code, up.stderr).toBe(0);
  }, 120_000);

  afterAll(async () => {
    await run(process.execPath, [program, 'lab', 'down', directory], { env: env() });
    await folder[Symbol.asyncDispose]();
  });

  it('is looked at by a dry run, and not asked', async () => {
    await behave();
    const dry = await ichor('cluster', 'rotate-ca', '--ca', 'etcd', '--dry-run', '--evacuation-hook', hook);
    await chmod(hook, 0o600);
    const refused = await ichor('cluster', 'rotate-ca', '--ca', 'etcd', '--dry-run', '--evacuation-hook', hook);
    await chmod(hook, 0o700);

    expect(dry.code, dry.stderr).toBe(0);
    expect(dry.stdout).toContain(
      `    each: ${hook} evacuate NODE, cordon, drain, reboot, ${hook} readmit NODE, uncordon\n`,
    );
    expect(dry.stdout).toContain(`evacuation hook ${hook}: may be executed; it was not asked\n`);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      `error: --evacuation-hook: ${hook} cannot be executed: EACCES\nNothing was done.\n`,
    ]);
    expect(calls()).toEqual([]);
  });

  it('goes before the cordon and after the reboot, through a hook that is slow, hangs and fails, and a kill', async () => {
    await behave('not-yet', 'not-yet', 'paused', 'hangs', 'done', 'not-yet', 'done', 'done', 'broken');
    const killed = rotating('--evacuation-hook', hook);
    const slow = await stands('EvacuatingStorage', /not done yet/);
    await stands('PausedByUser');
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(calls()).toEqual(['evacuate', 'evacuate', 'evacuate']);
    await ichor('operation', 'continue');

    const goesOn = rotating();
    const hung = await stands('EvacuationHookRefused');
    await until('it is back in Dropping', () =>
      calls().at(-1) === 'readmit' && calls().length > 8 ? true : undefined,
    );
    const failed = await stands('EvacuationHookRefused');
    await writeFile(at('mended'), '');
    const code = await goesOn.ended;

    expect(code, goesOn.printed()).toBe(0);
    expect(slow.message).toMatch(/: \S+ evacuate is not done yet: exit code 75: 2 volumes left; expected 0$/);
    expect(hung.message).toMatch(
      / evacuate failed: it had not ended after 30 s and was killed; expected 0, or 75 while/,
    );
    expect(failed.message).toMatch(
      / readmit failed: exit code 1: no such volume; expected 0, or 75 while it is at work$/,
    );
    expect([failed.state, failed.needsSomebody]).toEqual(['blocked', true]);
    expect(failed.advice).toContain('ichor operation continue --evacuation-hook PROGRAM');
    // Not on the command line of the second run: it was kept.
    expect(goesOn.printed()).toContain(`evacuation hook: ${hook}\n`);
    const name = failed.operation;
    const around = ['evacuate', 'cordon', 'drain', 'reboot', 'readmit', 'uncordon'];
    expect(effects('Accepting', name).filter((each) => each !== 'drain')).toEqual(
      around.filter((each) => each !== 'drain'),
    );
    expect(effects('Dropping', name).filter((each) => each !== 'drain')).toEqual(
      around.filter((each) => each !== 'drain'),
    );
    // By what the hook saw: evacuated before the cordon and the reboot, readmitted after the one and before the end of the other.
    const [first] = asked();
    const boots = [...new Set(asked().map(({ boot }) => boot))];
    expect(boots).toHaveLength(3);
    expect(asked().map(({ call, cordoned, boot }) => [call, cordoned, boots.indexOf(boot)])).toEqual([
      ...Array.from({ length: 5 }, () => ['evacuate', false, 0]),
      ['readmit', true, 1],
      ['readmit', true, 1],
      ['evacuate', false, 1],
      ['readmit', true, 2],
      ['readmit', true, 2],
    ]);
    expect(first?.boot).toBe(boots[0]);
    expect(goesOn.printed()).not.toContain('\u001b');
  }, 400_000);

  it('is killed with Ctrl-C, and lets storage back when the rotation is abandoned', async () => {
    await behave('hangs', ...Array.from({ length: 99 }, () => 'not-yet' as const));
    const left = rotating('--evacuation-hook', hook);
    const { pid } = await until('the hook hangs', () => asked()[0]);
    left.child.kill('SIGINT');
    const code = await left.ended;
    await until('the hook is gone', () => (existsSync(`/proc/${pid}`) ? undefined : true));

    const goesOn = rotating();
    await stands('EvacuatingStorage', /not done yet/);
    const { stdout } = await ichor('operation', 'get');
    await behave('broken', 'not-yet', 'done');
    await writeFile(at('mended'), '');
    await ichor('operation', 'delete', '--yes');
    const abandoned = await goesOn.ended;

    expect(code, left.printed()).toBe(130);
    expect(abandoned, goesOn.printed()).toBe(10);
    expect(stdout).toMatch(
      /^hook {8}\S+hook\.cjs, around each reboot\nevacuation {2}\S+: evacuate since .*: NotYet, exit code 75: 2 volumes left$/m,
    );
    expect(calls()).toContain('readmit');
    expect(calls().at(-1)).toBe('readmit');
    expect((await readFile(join(directory, 'audit.jsonl'), 'utf8')).includes('PRIVATE KEY')).toBe(false);
  }, 300_000);
});

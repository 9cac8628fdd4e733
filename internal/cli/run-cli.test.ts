import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { aFolder, runInProcess } from '../../test/builders/cli.ts';
import { COMMANDS } from './commands/index.ts';

describe('runCli', () => {
  it('prints the version as text, JSON and YAML', async () => {
    const platform = `${process.platform}-${process.arch}`;

    const asText = await runInProcess(['version']);
    const asJson = await runInProcess(['version', '-o', 'json']);
    const asYaml = await runInProcess(['version', '--output', 'yaml']);

    assert.deepEqual([asText.code, asText.stdout], [0, `ichor 1.2.3 (node ${process.version}, ${platform})\n`]);
    assert.deepEqual(JSON.parse(asJson.stdout), { version: '1.2.3', node: process.version, platform });
    assert.equal(asYaml.stdout, `version: 1.2.3\nnode: ${process.version}\nplatform: ${platform}\n`);
  });

  it('ends with 2 and says so on standard error for an option that is not there', async () => {
    const run = await runInProcess(['cluster', 'rotate-ca', '--forever']);

    assert.deepEqual(
      [run.code, run.stdout, run.stderr],
      [
        2,
        '',
        "error: unknown option '--forever'\nichor --help lists the commands, ichor COMMAND --help the options of one.\n",
      ],
    );
  });

  it('knows --version', async () => {
    const run = await runInProcess(['--version']);

    assert.deepEqual([run.code, run.stdout], [0, 'ichor 1.2.3\n']);
  });

  it.each([
    [['cluster', 'rotate-ca', '--ca', ''], '--ca'],
    [['cluster', 'status', '--dir', ''], '--dir'],
    [['cluster', 'status', ''], 'NAME'],
    [['lab', 'break', 'power-loss', ''], 'MACHINE'],
    [['lab', 'down', ''], 'DIR'],
  ])('ends with 2 for the empty word of a variable that was not set: %j', async (argv, what) => {
    const run = await runInProcess(argv);

    assert.deepEqual(
      [run.code, run.stderr],
      [2, `error: ${what} is empty\nGive it a value, or leave it out. Nothing was done.\n`],
    );
  });

  it.each([
    ['--ca', 'nonsense', '--ca', 'talos'],
    ['--ca', 'talos', '--ca', 'nonsense'],
    ['--ca', 'talos,nonsense'],
  ])('takes a list in one option or in several: %j', async (...options) => {
    const run = await runInProcess(['cluster', 'rotate-ca', ...options]);

    assert.equal(run.code, 2);
    assert.match(run.stderr, /"?nonsense"?/);
  });

  it.each([
    [['cluster', 'rotate-ca', '--ca', '', '--ca', 'etcd'], '--ca is empty'],
    [['cluster', 'rotate-ca', '--ca', 'etcd', '--ca', ''], '--ca is empty'],
    [['cluster', 'status', '--dir', 'here', '--dir', 'there'], '--dir is given twice'],
    [['cluster', 'status', '-o', 'json', '--output', 'yaml'], '--output is given twice'],
    [['cluster', 'rotate-ca', '--previous-bundle', 'remove', '--previous-bundle', 'archive'], 'bundle is given twice'],
  ])('drops no value without a word: %j', async (argv, found) => {
    const run = await runInProcess(argv);

    assert.equal(run.code, 2);
    assert.ok(run.stderr.includes(found), run.stderr);
  });

  it('ends with 2 for a list of nothing', async () => {
    const run = await runInProcess(['cluster', 'rotate-ca', '--ca', ' , ']);

    assert.deepEqual([run.code, run.stderr], [2, 'error: --ca names nothing\n']);
  });

  it('ends with 2 for a format that is not there', async () => {
    const run = await runInProcess(['operation', 'list', '-o', 'xml']);

    assert.equal(run.code, 2);
    assert.match(run.stderr, /argument 'xml' is invalid. Allowed choices are text, json, yaml/);
  });

  it('shows the help of a command of two words', async () => {
    const run = await runInProcess(['help', 'cluster', 'rotate-ca']);

    assert.equal(run.code, 0);
    assert.match(run.stdout, /^Usage: ichor cluster rotate-ca /);
  });

  it.each([['nonsense'], ['cluster', 'nonsense']])('has no help for what is no command: %s %s', async (...words) => {
    const run = await runInProcess(['help', ...words.filter((word) => word !== undefined)]);

    assert.deepEqual(
      [run.code, run.stdout, run.stderr],
      [
        2,
        '',
        `error: unknown command '${words.join(' ')}'\nichor --help lists the commands, ichor COMMAND --help the options of one.\n`,
      ],
    );
  });

  it.each([[['exit-codes']], [['help', 'exit-codes']]])('lists every exit code: %j', async (argv) => {
    const run = await runInProcess(argv);

    assert.equal(run.code, 0);
    assert.match(run.stdout, /^ {3}0 {2}done; or, of a dry run or a question, answered\n {3}1 /);
    assert.match(run.stdout, /\n 130 {2}interrupted \(Ctrl-C\)/);
  });

  it('lists them as JSON', async () => {
    const run = await runInProcess(['help', 'exit-codes', '-o', 'json']);

    assert.equal(run.code, 0);
    assert.deepEqual(JSON.parse(run.stdout).exitCodes[0], {
      name: 'ok',
      code: 0,
      meaning: 'done; or, of a dry run or a question, answered',
    });
  });

  it('has an option for the format wherever something is printed', async () => {
    const without = COMMANDS.filter(({ options }) => !options.some(({ flags }) => flags === '-o, --output <format>'));

    // It prints nothing of its own.
    assert.deepEqual(
      without.map(({ path }) => path.join(' ')),
      ['lab shell'],
    );
  });

  it('shows the help of every command without doing anything', async () => {
    for (const { path, summary } of COMMANDS) {
      const run = await runInProcess([...path, '--help']);

      assert.equal(run.code, 0);
      assert.match(run.stdout.replaceAll(/\s+/g, ' '), new RegExp(summary.replaceAll(/[()]/g, '\\$&')));
    }
  });

  it('names the directory and what to do where there is no bundle', async () => {
    using folder = aFolder();

    const run = await runInProcess(['cluster', 'rotate-ca', '--yes'], { directory: folder.path });

    assert.equal(run.code, 6);
    assert.equal(
      run.stderr,
      `error: ${folder.path}/secrets.yaml: there is no bundle. Put the secrets.yaml of this cluster here: secrets are never made anew for a cluster that exists\nName the directory of the cluster with --dir, or make one: ichor cluster import --dir DIRECTORY.\n`,
    );
  });
});

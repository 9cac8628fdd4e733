import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { CliError, explain } from './cli-error.ts';
import { checkClusterName, checkLiveName } from './cluster-name.ts';

async function saidBy(check: () => void | Promise<void>) {
  try {
    await check();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof CliError);
    return explain(error);
  }
}

describe('the name of a cluster', () => {
  it('is not compared, and not even asked for, where none is on the command line', async () => {
    const asked: string[] = [];
    const view = {
      clusterName: async () => {
        asked.push('asked');
        return 'seed';
      },
    };

    assert.equal(await saidBy(() => checkLiveName(undefined, view)), undefined);
    assert.equal(await saidBy(() => checkClusterName(undefined, [{ name: 'seed', by: 'its folder' }])), undefined);
    assert.deepEqual(asked, []);
  });

  it('is one of those that it has', async () => {
    const names = [
      { name: 'prod', by: 'its folder' },
      { name: 'blue', by: 'its talosconfig' },
    ];

    assert.equal(await saidBy(() => checkClusterName('prod', names)), undefined);
    assert.equal(await saidBy(() => checkClusterName('blue', names)), undefined);
    assert.equal(await saidBy(() => checkLiveName('seed', { clusterName: async () => 'seed' })), undefined);
    assert.equal(
      (await saidBy(() => checkClusterName('staging', names)))?.message,
      '"staging" was asked for, and this cluster is "prod" according to its folder and "blue" according to its talosconfig',
    );
  });

  it('ends the command where the control planes say another one', async () => {
    const said = await saidBy(() => checkLiveName('prod', { clusterName: async () => 'seed' }));

    assert.deepEqual(said, {
      exit: 'refused',
      message: '"prod" was asked for, and this cluster is "seed" according to its control planes',
      advice: 'Name the directory with --dir, and leave NAME out where it is the right one. Nothing was changed.',
    });
  });
});

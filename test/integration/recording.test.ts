import { beforeAll, describe, expect, it } from 'vitest';
import { createMint, type Mint } from '../../internal/simulator/index.ts';
import { labTarget } from '../conformance/talos/lab-target.ts';
import { startIchor } from '../e2e/ichor-process.ts';
import { differences } from '../recordings/compare.ts';
import { recordDirectory } from '../recordings/directory.ts';
import { recordingFromTrail } from '../recordings/from-trail.ts';
import { record, scenarioOf } from '../simulation/replay.ts';

describe('the recorder over real sockets', () => {
  let mint: Mint;
  beforeAll(async () => {
    mint = await createMint(2);
  });

  it('records what the built ichor does to a lab, and the same rotation in the world is the same', async () => {
    await using target = await labTarget({ controlPlanes: 1, workers: 1 });
    const { directory, world } = target.lab;
    using recorder = await recordDirectory({ directory, machines: world.machines(), cluster: 'lab' });
    const targets = ['--ca', 'talos,kubernetes', '--previous-bundle', 'remove'];
    const ichor = startIchor(['cluster', 'rotate-ca', '--dir', directory, '--yes', '--follow', ...targets], {
      home: directory,
    });
    expect(await ichor.ended, ichor.output()).toBe(0);

    const recording = await recorder.finish();

    const trail = await recordingFromTrail(directory, { cluster: 'lab', talosVersion: '1.14.1', shape: 'typed' });
    const replayed = await record(scenarioOf(recording, 1), mint);
    expect(differences(recording, replayed.recording)).toEqual([]);
    expect(differences(trail, replayed.recording)).toEqual([]);
    expect(trail.steps).toEqual(recording.steps.map(({ moved: _, became: __, ...step }) => step));
    expect(recording.steps.filter(({ moved }) => moved?.includes('pod:kube-apiserver'))).toHaveLength(3);
  });
});

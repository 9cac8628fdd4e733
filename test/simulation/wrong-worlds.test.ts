import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CA_TARGETS } from '../../api/v1alpha1/index.ts';
import { writeRecording } from '../recordings/recording.ts';
import { run } from '../support/run.ts';
import { simulations } from './one-world.ts';
import { record } from './replay.ts';
import { plain } from './scenarios.ts';
import { WRONG_WORLDS } from './wrong-worlds.ts';

describe('a recording', () => {
  const simulate = simulations();
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'wrong-worlds-'));
    const { recording } = await record(plain('1+1', CA_TARGETS), simulate.mint());
    writeFileSync(join(folder, 'recording.json'), writeRecording(recording));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const replayIn = (...names: string[]) =>
    run(process.execPath, ['test/simulation/replay-wrong-world.ts', join(folder, 'recording.json'), ...names]);

  it('is replayed to the same in the right world', async () => {
    const { code, stdout, stderr } = await replayIn();

    expect(stdout + stderr).toBe('');
    expect(code).toBe(0);
  });

  it.each(WRONG_WORLDS)('is not replayed to the same where $name', async ({ name, shows }) => {
    const { code, stdout, stderr } = await replayIn(name);

    expect(stdout, stderr).toMatch(shows);
    expect(code).toBe(0);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseRecording, writeRecording } from '../recordings/recording.ts';
import { simulations } from './one-world.ts';
import { replay } from './replay.ts';

const FOLDER = 'test/simulation/recordings';
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

describe('a recorded rotation, replayed in the world by production code,', () => {
  const simulate = simulations();

  it.each(FILES)('%s is the same', async (file) => {
    const recording = parseRecording(readFileSync(join(FOLDER, file), 'utf8'), file);

    for (const seed of [1, 2]) expect(await replay(recording, seed, simulate.mint())).toEqual([]);
  });

  it.each(FILES)('%s holds names and roles, and is laid out for people', (file) => {
    const text = readFileSync(join(FOLDER, file), 'utf8');

    expect(text).toBe(writeRecording(parseRecording(text, file)));
    expect(text).not.toMatch(/BEGIN|PRIVATE|[A-Za-z0-9+/]{32}/);
  });
});

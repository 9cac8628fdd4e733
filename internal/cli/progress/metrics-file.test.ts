import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aFolder } from '../../../test/builders/cli.ts';
import { openMetricsFile } from './metrics-file.ts';

describe('a metrics file', () => {
  it('holds what was written last, for other users to read, and nothing beside it', async () => {
    using folder = aFolder();
    const path = join(folder.path, 'ichor.prom');
    const file = await openMetricsFile(path, () => undefined);
    await file.write('a 1\n');
    await file.write('a 2\n');

    expect(readFileSync(path, 'utf8')).toBe('a 2\n');
    expect(statSync(path).mode & 0o444).toBe(0o444);
    expect(readdirSync(folder.path)).toEqual(['ichor.prom']);
  });

  it('that cannot be written is refused while nothing has begun', async () => {
    using folder = aFolder();
    const path = join(folder.path, 'no', 'ichor.prom');

    await expect(openMetricsFile(path, () => undefined)).rejects.toMatchObject({
      exit: 'usage',
      message: expect.stringContaining(`--metrics-file: ${path} cannot be written: ENOENT`),
    });
  });

  it('whose folder is gone later is said once, and again when it was there meanwhile', async () => {
    using folder = aFolder();
    const inner = join(folder.path, 'metrics');
    mkdirSync(inner);
    const said: string[] = [];
    const file = await openMetricsFile(join(inner, 'ichor.prom'), (line) => said.push(line));

    rmSync(inner, { recursive: true });
    await file.write('a 1\n');
    await file.write('a 2\n');
    expect(said).toEqual([expect.stringMatching(/^the metrics in \S+ichor\.prom are out of date: ENOENT/)]);
    mkdirSync(inner);
    await file.write('a 3\n');
    rmSync(inner, { recursive: true });
    await file.write('a 4\n');
    expect(said).toHaveLength(2);
  });
});

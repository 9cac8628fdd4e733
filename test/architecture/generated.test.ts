import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generate } from '../../proto/generate.ts';
import { ROOT } from './sources.ts';

function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map((file) => {
      const path = join(file.parentPath, file.name);
      return [path.slice(folder.length + 1), readFileSync(path, 'utf8')];
    }),
  );
}

describe('generated code', () => {
  it('is what the .proto files generate today; run "npm run generate" and commit the result when this fails', () => {
    const fresh = mkdtempSync(join(tmpdir(), 'ichor-generated-'));
    try {
      generate(fresh);

      expect(filesIn(join(ROOT, 'proto/generated'))).toEqual(filesIn(fresh));
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  });
});

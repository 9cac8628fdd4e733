import { describe, expect, it } from 'vitest';
import { createDisk, createMemoryFiles } from '../../test/builders/memory-files.ts';
import { replaceFile } from './atomic-file.ts';

describe('a file that is replaced', () => {
  it('is read back, and a disk that holds something else is an error', async () => {
    const files = createMemoryFiles(createDisk('/cluster'));
    const lying = { ...files, read: async () => new Uint8Array(Buffer.from('something else')) };
    const write = (means: typeof files) =>
      replaceFile({ files: means, uniqueName: () => 'one' }, '/cluster/secrets.yaml', Buffer.from('what was meant'));

    await expect(write(files)).resolves.toBeUndefined();
    await expect(write(lying)).rejects.toThrow('reads back differently from what was written');
  });
});

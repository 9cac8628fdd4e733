import { describe, expect, it } from 'vitest';
import { readTarEntry } from './tar.ts';

function anEntry(name: string, content: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  return Buffer.concat([header, Buffer.from(content)]);
}

function padded(entry: Buffer): Buffer {
  return Buffer.concat([entry, Buffer.alloc((512 - (entry.length % 512)) % 512)]);
}

describe('readTarEntry', () => {
  it('reads an archive that just stops, as Talos sends it', () => {
    expect(readTarEntry(anEntry('kubeconfig', 'apiVersion: v1\n'), 'kubeconfig').toString()).toBe('apiVersion: v1\n');
  });

  it('reads a complete archive and passes over other entries', () => {
    const archive = Buffer.concat([
      padded(anEntry('a', 'x'.repeat(700))),
      padded(anEntry('b', 'yes')),
      Buffer.alloc(1024),
    ]);

    expect(readTarEntry(archive, 'b').toString()).toBe('yes');
  });

  it.each([
    ['a missing entry', anEntry('other', 'x'), 'there is no entry kubeconfig'],
    [
      'content that is cut off',
      anEntry('kubeconfig', 'hello').subarray(0, 514),
      'the content of kubeconfig is cut off',
    ],
    ['an empty archive', Buffer.alloc(0), 'there is no entry kubeconfig'],
    ['a size that is no number', Buffer.from(`kubeconfig${'\0'.repeat(114)}zzz`.padEnd(600, '\0')), 'is cut off'],
  ])('refuses %s', (_name, archive, message) => {
    expect(() => readTarEntry(archive, 'kubeconfig')).toThrow(message);
  });
});

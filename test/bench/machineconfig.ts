import { parseAllDocuments } from 'yaml';
import { decodeMachineConfig, readMachineConfig, renderStage } from '../../pkg/machineconfig/index.ts';
import { aMachineConfig, changesBetween, someMaterial } from '../builders/machine-config.ts';
import type { BenchRow } from './pki.ts';

const SIZE = 33 * 1024;

/**
 * One configuration of 33 KB and three documents, from bytes to bytes: read,
 * rendered for three CAs, proved and written; against bare parsing of the same
 * text with the YAML library that everybody would take.
 */
export async function run(): Promise<BenchRow[]> {
  const before = await someMaterial('key2');
  const changes = changesBetween(before, await someMaterial('key3')).slice(0, 3);
  const text = padded(aMachineConfig({ material: before, shape: 'mixed' }));
  const bytes = new TextEncoder().encode(text);
  const options = { talosVersion: 'v1.14.1' };

  const reference = median(() => parseAllDocuments(text));
  const rendering = median(() =>
    new TextEncoder().encode(renderStage(decodeMachineConfig(bytes), changes, 'Accepting', options)),
  );
  const reading = median(() => readMachineConfig(decodeMachineConfig(bytes)));
  const row = (name: string, value: number): BenchRow => ({
    name,
    value,
    unit: 'ms',
    reference,
    ratio: value / reference,
  });
  return [
    row('read, render and write a configuration of 33 KB', rendering),
    row('read everything about keys and trust in it', reading),
  ];
}

/** Settings of others with comments, as talosctl writes them, until the text has its size. */
function padded(config: string): string {
  const lines: string[] = [];
  for (let n = 0, length = config.length; length < SIZE; n += 1) {
    const line = `            setting-${n}: "value ${n}" # what setting ${n} is good for\n`;
    lines.push(line);
    length += line.length;
  }
  return config.replace('        extraArgs:\n', `        extraArgs:\n${lines.join('')}`);
}

function median(work: () => unknown): number {
  for (let round = 0; round < 20; round += 1) work();
  const times = Array.from({ length: 41 }, () => {
    const begin = performance.now();
    work();
    return performance.now() - begin;
  });
  return times.sort((a, b) => a - b)[20] ?? 0;
}

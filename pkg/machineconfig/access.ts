import { type Known, knownOf } from './known.ts';
import { type Changes, changesOf } from './yaml/change.ts';
import { createFieldReader, type FieldReader } from './yaml/nodes.ts';
import { type ParsedMachineConfig, parseMachineConfig } from './yaml/parse.ts';

/** One parsed configuration with what reads and changes its fields. */
export interface Access {
  readonly config: ParsedMachineConfig;
  readonly fields: FieldReader;
  readonly changes: Changes;
  readonly known: Known;
  /** What `read` gives, read once for this text: certificates and keys are costly to parse. */
  once<T>(name: string, read: () => T): T;
}

/** Parses a configuration for reading and changing. */
export function accessOf(text: string, where?: string, known: Known = knownOf([])): Access {
  const config = parseMachineConfig(text, where);
  const read = new Map<string, unknown>();
  return {
    config,
    fields: createFieldReader(config),
    changes: changesOf(config),
    known,
    once<T>(name: string, first: () => T): T {
      if (!read.has(name)) read.set(name, first());
      return read.get(name) as T;
    },
  };
}

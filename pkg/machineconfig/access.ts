import { type Changes, changesOf } from './yaml/change.ts';
import { createFieldReader, type FieldReader } from './yaml/nodes.ts';
import { type ParsedMachineConfig, parseMachineConfig } from './yaml/parse.ts';

/** One parsed configuration with what reads and changes its fields. */
export interface Access {
  readonly config: ParsedMachineConfig;
  readonly fields: FieldReader;
  readonly changes: Changes;
}

/** Parses a configuration for reading and changing. */
export function accessOf(text: string, where?: string): Access {
  const config = parseMachineConfig(text, where);
  return { config, fields: createFieldReader(config), changes: changesOf(config) };
}

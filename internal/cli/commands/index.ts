import type { Command } from '../command.ts';
import { clusterRotateCa } from './cluster-rotate-ca.ts';
import { version } from './version.ts';

/** The nouns that group commands. */
export const NOUNS: readonly { readonly noun: string; readonly summary: string }[] = [
  { noun: 'cluster', summary: 'look at a cluster, rotate its certificate authorities' },
  { noun: 'operation', summary: 'look at, pause, continue or delete an operation' },
];

/** Every command, in the order of the help. A new command is one file and one line here. */
export const COMMANDS: readonly Command[] = [clusterRotateCa, version];

import type { Command } from '../command.ts';
import { clusterBundleExport } from './cluster-bundle-export.ts';
import { clusterCredentials } from './cluster-credentials.ts';
import { clusterImport } from './cluster-import.ts';
import { clusterRotateCa } from './cluster-rotate-ca.ts';
import { clusterStatus } from './cluster-status.ts';
import { completion } from './completion.ts';
import { exitCodes } from './exit-codes.ts';
import { LAB_COMMANDS } from './lab/commands.ts';
import { operationContinue } from './operation-continue.ts';
import { operationDelete } from './operation-delete.ts';
import { operationExplain } from './operation-explain.ts';
import { operationGet } from './operation-get.ts';
import { operationList } from './operation-list.ts';
import { operationPause } from './operation-pause.ts';
import { version } from './version.ts';

/** The nouns that group commands. */
export const NOUNS: readonly { readonly noun: string; readonly summary: string }[] = [
  { noun: 'cluster', summary: 'look at a cluster, rotate its certificate authorities' },
  { noun: 'operation', summary: 'look at, pause, continue or delete an operation' },
  { noun: 'lab', summary: 'a cluster on this computer to rehearse on' },
];

/** Every command, in the order of the help. A new command is one file and one line here. */
export const COMMANDS: readonly Command[] = [
  clusterRotateCa,
  clusterStatus,
  clusterCredentials,
  clusterImport,
  clusterBundleExport,
  operationList,
  operationGet,
  operationExplain,
  operationPause,
  operationContinue,
  operationDelete,
  ...LAB_COMMANDS,
  version,
  completion,
  exitCodes,
];

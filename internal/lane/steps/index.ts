import type { Step } from '../model.ts';
import { after } from './after.ts';
import { aggregator } from './aggregator.ts';
import { all } from './all.ts';
import { before } from './before.ts';
import { etcd, etcdAfter } from './etcd.ts';
import { handOff } from './hand-off.ts';
import { interrupted } from './interrupted.ts';
import { machineOff } from './machine-off.ts';

/**
 * The two lists of hardware verification, in the order in which one cluster can go
 * through them: what is least certain first, what is left by nothing last.
 */
export const STEPS: readonly Step[] = [
  before,
  etcd,
  etcdAfter,
  aggregator,
  interrupted,
  handOff,
  machineOff,
  all,
  after,
];

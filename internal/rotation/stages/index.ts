import type { CaStage } from '../../../api/v1alpha1/index.ts';
import { accepting } from './accepting.ts';
import { awaitingCredentials } from './awaiting-credentials.ts';
import { dropping } from './dropping.ts';
import { finalizing } from './finalizing.ts';
import { issuing } from './issuing.ts';
import { pending } from './pending.ts';
import type { Stage } from './stage.ts';

/** Every stage that has something to do; a name without a stage does not compile. */
export const STAGES: Readonly<Record<Exclude<CaStage, 'Done'>, Stage>> = {
  Pending: pending,
  Accepting: accepting,
  AwaitingCredentials: awaitingCredentials,
  Issuing: issuing,
  Dropping: dropping,
  Finalizing: finalizing,
};

import { pass } from '../pass.ts';
import { roll } from '../roll.ts';
import { enter, proved, type Stage, settled } from './stage.ts';

/** No machine trusts the old certificate authorities any more. */
export const dropping: Stage = {
  summary: 'no machine trusts the old CA any more',
  steps: [pass, roll, proved, settled, enter(() => 'Finalizing')],
};

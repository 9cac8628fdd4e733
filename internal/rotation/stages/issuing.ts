import { pass } from '../pass.ts';
import { rollUnlessServed } from '../roll-unless-served.ts';
import { enter, proved, type Stage, settled } from './stage.ts';

/** The new certificate authorities issue; the old ones are still trusted. */
export const issuing: Stage = {
  summary: 'the new CA issues; the old one is still trusted',
  steps: [pass, rollUnlessServed, proved, settled, enter(() => 'Dropping')],
};

import { anyTarget } from '../context.ts';
import { pass } from '../pass.ts';
import { roll } from '../roll.ts';
import { enter, proved, type Stage, settled } from './stage.ts';

/** Every machine trusts the new certificate authorities before anything is signed by them. */
export const accepting: Stage = {
  summary: 'every machine trusts the new CA; the old one issues',
  steps: [
    pass,
    roll,
    proved,
    settled,
    enter((context) => (anyTarget(context, (target) => target.handOff) ? 'AwaitingCredentials' : 'Issuing')),
  ],
};

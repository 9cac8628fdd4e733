import { prints } from '../material.ts';
import type { Checker } from '../run.ts';
import { pairOf } from './material.ts';

/** S17: a configuration, which holds keys, goes only to the machine that is meant, behind a certificate by the old or the new Talos CA. */
export function authenticatedPeer(): Checker {
  let seen = 0;
  return {
    property: 'S17 authenticated peer',
    check(moment) {
      const { sent } = moment.faults.log;
      if (sent.length === seen) return undefined;
      const pair = pairOf(moment, 'talos');
      for (; seen < sent.length; seen += 1) {
        const each = sent[seen];
        if (each === undefined) continue;
        if (each.machine !== each.reached) return `the configuration of ${each.machine} was sent to ${each.reached}`;
        const stranger = [each.issuer, ...prints(each.trust)].find((ca) => ca !== pair.old && ca !== pair.new);
        if (stranger !== undefined) {
          return `the configuration of ${each.machine} would have been sent to whoever shows a certificate by ${stranger.slice(0, 12)}`;
        }
      }
      return undefined;
    },
  };
}

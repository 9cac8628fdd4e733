import type { Moment } from '../run.ts';
import { othersOf } from './others.ts';

/**
 * Machines that whoever deletes a rotation was told of: they could not be asked for
 * minutes, so they are given up, and named as ones that may still trust the new CAs.
 * One that is on its way into the cluster at that moment nobody can know of.
 */
export interface GivenUp {
  look(moment: Moment): ReadonlySet<string>;
}

/** Watches for the moment at which an abandoned rotation is let go. */
export function watchGivenUp(): GivenUp {
  const names = new Set<string>();
  let seen = 0;
  return {
    look(moment) {
      const { store, world } = moment;
      for (; seen < store.audit.length; seen += 1) {
        const entry = store.audit[seen];
        if (entry?.effect !== 'abandon' || entry.phase !== 'before') continue;
        const [, told = ''] = /; (.+) may still trust the new ones$/.exec(entry.message) ?? [];
        for (const { name } of world.machines()) {
          const isNamed = told.split(', ').includes(name) && cannotBeAsked(moment, name);
          // Without the record nobody knows what was new.
          if (isNamed || store.isDamaged || world.find(name)?.node === undefined) names.add(name);
        }
      }
      return names;
    },
  };
}

/** It does not answer, or has a disk that does not let us in. */
function cannotBeAsked(moment: Moment, name: string): boolean {
  const machine = moment.world.find(name);
  return machine?.isUp !== true || machine.isCutOff || othersOf(moment).setBack.has(name);
}

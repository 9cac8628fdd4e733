import type { Checker, Moment } from '../run.ts';
import { watchReboots } from './reboots.ts';

/**
 * S25: where an evacuation hook is set, no machine reboots for us while it stores what others need, no second one is
 * evacuated, and at the end all of it is where it was.
 */
export function storageAway(): Checker {
  const reboots = watchReboots({
    asked: ({ store }, { machine }) =>
      store.storage.get(machine)?.state === 'away' ? undefined : `${machine} is to reboot with its storage`,
    begun: () => undefined,
  });
  return {
    property: 'S25 storage',
    check(moment) {
      if (moment.scenario.spec?.evacuationHook === undefined) return undefined;
      return reboots.look(moment) ?? tooMany(moment);
    },
    end({ operation, store, world }) {
      const isOver = operation === undefined || operation.status.phase === 'Completed';
      const left = [...store.storage.keys()].find((name) => world.find(name) !== undefined);
      return isOver && left !== undefined ? `it is over, and the storage of ${left} is not back` : undefined;
    },
  };
}

function tooMany({ store, world }: Moment): string | undefined {
  const names = [...store.storage.keys()].filter((name) => world.find(name) !== undefined);
  return names.length > 1 ? `the storage of ${names.join(' and ')} is away at a time` : undefined;
}

import type { Checker } from '../run.ts';

/** L6: whoever deletes an operation is rid of it, or is told that it is too late. */
export function abort(): Checker {
  return {
    property: 'L6 abort',
    end({ operation, scenario, world }) {
      const deletion = (scenario.happenings ?? []).find(
        (each) => each.what === 'delete' && each.at < world.clock.monotonic(),
      );
      if (deletion === undefined || operation === undefined) return undefined;
      if (operation.metadata.deletionTimestamp === undefined) return undefined;
      const isHeld = operation.status.conditions.some((each) => each.type === 'DeletionHeld' && each.status === 'True');
      return isHeld || operation.status.stage === 'Done'
        ? undefined
        : 'a deleted operation is still there, and nobody is told why';
    },
  };
}

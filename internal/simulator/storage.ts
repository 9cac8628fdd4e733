import type { EvacuationHook, HookCall } from '../controller/index.ts';
import type { FaultPlan, SimProcess } from './faults.ts';
import type { World } from './world.ts';

/** What becomes of the storage of one machine: it goes, is away, comes back. */
export interface SimEvacuation {
  readonly state: 'going' | 'away' | 'coming';
  /** Virtual milliseconds. */
  readonly since: number;
}

/** Machines whose storage is not where it belongs, by name; it outlives every process. */
export type SimStorage = Map<string, SimEvacuation>;

/** How long storage takes, either way; longer than the pause between two questions. */
const MOVING_MS = 12_000;

/** As long as a call of a real hook may take. */
const CALL_MS = 30_000;

/** The evacuation hook as one process asks it. What it starts is killed with it, so that nothing of a call lands later. */
export function createSimHook(
  world: World,
  storage: SimStorage,
  { process, faults }: { readonly process: SimProcess; readonly faults: FaultPlan },
): EvacuationHook {
  return {
    async ask({ call, machine }) {
      try {
        return await faults.make(process, {
          name: `hook ${call} ${machine}`,
          deadlineMs: CALL_MS,
          perform: () => ({ outcome: asked(world, storage, { call, machine }), found: 'as the world says' }),
          canLand: () => false,
          refusal: () => new Error('exit code 1'),
          silence: () => new Error('it had not ended and was killed'),
        });
      } catch (error) {
        return { outcome: 'Refused', found: error instanceof Error ? error.message : 'failed' };
      }
    },
  };
}

function asked(
  world: World,
  storage: SimStorage,
  { call, machine }: Pick<HookCall, 'call' | 'machine'>,
): 'Done' | 'NotYet' {
  const { clock } = world;
  const before = storage.get(machine);
  const isMoved = before !== undefined && clock.monotonic() - before.since >= MOVING_MS;
  const become = (state: SimEvacuation['state']): void => {
    if (before?.state === state) return;
    storage.set(machine, { state, since: clock.monotonic() });
    world.trace(`storage of ${machine} ${state}`);
  };
  if (call === 'evacuate') {
    if (before?.state === 'away') return 'Done';
    const isThere = before?.state === 'going' && isMoved;
    become(isThere ? 'away' : 'going');
    return isThere ? 'Done' : 'NotYet';
  }
  if (before === undefined) return 'Done';
  if (before.state === 'coming' && isMoved) {
    storage.delete(machine);
    world.trace(`storage of ${machine} is back`);
    return 'Done';
  }
  become('coming');
  return 'NotYet';
}

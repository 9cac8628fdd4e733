import type { World } from '../world.ts';
import { recordEvents } from './event-recorder.ts';
import { createHistory, type History } from './history.ts';

/** The history of a world, begun by whoever asks first; from then on events tell what happens. */
export function historyOf(world: World): History {
  const known = world.kubernetes.history;
  if (known !== undefined) return known;
  const history = createHistory(world);
  recordEvents(world, history);
  world.kubernetes.history = history;
  return history;
}

import { HANDOFF_ANNOTATION } from '../../api/v1alpha1/index.ts';
import type { Happening } from './happenings.ts';
import type { Mint } from './mint.ts';
import type { SimStore } from './store.ts';
import type { World } from './world.ts';

/** What people do to the operation and to what the store holds, and not to a machine. */
export function happenToOperation(world: World<Mint>, store: SimStore, operation: string, happening: Happening): void {
  switch (happening.what) {
    case 'pause':
      setPaused(store, operation, true);
      world.clock.schedule(happening.forMs, () => setPaused(store, operation, false));
      return;
    case 'respec':
      store.edit(operation, (current) => ({
        ...current,
        metadata: { ...current.metadata, generation: current.metadata.generation + 1 },
        spec: { ...current.spec, caRotation: { targets: [...happening.targets] } },
      }));
      return;
    case 'other-operation': {
      const other = store.create('other', {});
      store.edit('other', () => ({ ...other, status: { ...other.status, phase: 'InProgress' } }));
      return;
    }
    case 'acknowledge':
      store.edit(operation, (current) => ({
        ...current,
        metadata: {
          ...current.metadata,
          annotations: { ...current.metadata.annotations, [HANDOFF_ANNOTATION]: happening.token },
        },
      }));
      return;
    case 'damage':
      damage(world, store, happening);
      return;
    case 'begin-anew': {
      const current = store.operations.get(operation);
      if (current === undefined) return;
      store.operations.delete(operation);
      store.create(operation, current.spec);
      return;
    }
    case 'delete':
      store.edit(operation, (current) => ({
        ...current,
        metadata: { ...current.metadata, deletionTimestamp: new Date(world.clock.now()).toISOString() },
      }));
      return;
    default:
  }
}

function setPaused(store: SimStore, operation: string, paused: boolean): void {
  store.edit(operation, (current) => ({ ...current, spec: { ...current.spec, paused } }));
}

function damage(world: World<Mint>, store: SimStore, { to, forMs }: Extract<Happening, { what: 'damage' }>): void {
  const { record, document } = store;
  if (to === 'bundle') {
    store.isDamaged = true;
    store.document = document.replace({ talos: world.mint.ca('talos', 1) });
    world.clock.schedule(forMs, () => {
      store.document = document;
      store.isDamaged = false;
    });
    return;
  }
  if (record === undefined) return;
  store.isDamaged = true;
  if (to === 'gone') store.record = undefined;
  else if (to === 'cut') store.record = record.slice(0, record.length / 2);
  else store.record = record.replace(/uid-[a-z0-9-]+/, 'uid-of-another');
  world.clock.schedule(forMs, () => {
    // What was put in its place meanwhile is not touched.
    if (to !== 'gone' || store.record === undefined) store.record = record;
    store.isDamaged = false;
  });
}

import { RULES, type Rules, type Shape } from './rules.ts';
import { ENDLESS, type Left } from './state.ts';

/** One exploration: of which cluster, and with which faults. */
export interface Exploration {
  readonly name: string;
  readonly shape: Shape;
  readonly left: Left;
}

const ETCD: Shape = {
  controlPlanes: 3,
  handOff: false,
  restartsPods: false,
  probeFails: false,
  signerLast: false,
  disturbedAtOnce: 1,
};

/** The shape of a rotation of etcd alone with something changed. */
export function shapeOf(change: Partial<Shape> = {}): Shape {
  return { ...ETCD, ...change };
}

/** Any number of lost, late, dropped and refused calls, and of machines that others disturb. */
export const ANY: Left = { calls: ENDLESS, foreign: ENDLESS, restores: 0 };

/** A few seconds: what every change goes through. */
export const SMALL: readonly Exploration[] = [
  {
    name: 'one control plane, any number of faults of every kind, one old disk',
    shape: shapeOf({ controlPlanes: 1, handOff: true, restartsPods: true, probeFails: true }),
    left: { ...ANY, restores: 1 },
  },
  { name: 'three control planes, any number of faults of calls', shape: shapeOf(), left: { ...ANY, foreign: 0 } },
  {
    name: 'three control planes, one disturbance by others, which may be an old disk',
    shape: shapeOf({ handOff: true, restartsPods: true }),
    left: { calls: 0, foreign: 1, restores: 1 },
  },
  {
    name: 'three control planes that drop the Kubernetes CA in any order, one fault of a call',
    shape: shapeOf({ restartsPods: true, signerLast: true }),
    left: { calls: 1, foreign: 0, restores: 0 },
  },
];

/** What is gone through before anything is released. */
export const FULL: readonly Exploration[] = [
  ...SMALL,
  {
    name: 'three control planes, any number of faults of calls, and others disturb one machine at a time any number of times',
    shape: shapeOf({ handOff: true, restartsPods: true, probeFails: true }),
    left: ANY,
  },
  {
    name: 'three control planes, two disturbances at a time, one of which may be an old disk',
    shape: shapeOf({ disturbedAtOnce: 2 }),
    left: { calls: 0, foreign: 2, restores: 1 },
  },
  {
    name: 'five control planes, one fault of a call, one disturbance by others',
    shape: shapeOf({ controlPlanes: 5 }),
    left: { calls: 1, foreign: 1, restores: 0 },
  },
];

/** The protocol as it is, or without some of its rules. */
export function rulesWithout(...names: readonly (keyof Rules)[]): Rules {
  return { ...RULES, ...Object.fromEntries(names.map((name) => [name, false])) };
}

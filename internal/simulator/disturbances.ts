import type { SimMachine } from './machine.ts';
import { prints } from './material.ts';
import { storeConfiguration } from './transitions.ts';
import type { World } from './world.ts';

/** What somebody or something does to a cluster, and its end; searches and labs alike. */

/** Nobody reaches the machine any more, although it runs; or they do again. */
export function setCutOff(world: World, machine: SimMachine, isCutOff: boolean): void {
  machine.isCutOff = isCutOff;
  world.etcd.update();
}

/** etcd of one control plane crashes and stays away; everything else on the machine runs. */
export function stopEtcd(world: World, { plane }: SimMachine): void {
  if (plane === undefined) return;
  plane.etcd.isRunning = false;
  plane.etcd.instance += 1;
  plane.etcd.startedAt = world.clock.now();
  world.etcd.update();
}

/** etcd is started again, and reads its trust and arguments as at every start. */
export function startEtcd(world: World, { plane, taken, others }: SimMachine): void {
  if (plane === undefined) return;
  plane.etcd.isRunning = true;
  plane.etcd.pool = prints(taken.etcd?.bundle ?? []);
  plane.etcd.startedWith = others?.etcd;
  world.etcd.update();
}

const COMMENT = '# somebody was here\n';

/** Whether {@link editConfiguration} has left its comment. */
export function isEdited({ config }: SimMachine): boolean {
  return config.startsWith(COMMENT);
}

/** Somebody adds a comment to the configuration, or takes it away again. */
export function editConfiguration(world: World, machine: SimMachine): void {
  const { config } = machine;
  const edited = isEdited(machine) ? config.slice(COMMENT.length) : COMMENT + config;
  storeConfiguration(world, machine, edited, { staged: false });
}

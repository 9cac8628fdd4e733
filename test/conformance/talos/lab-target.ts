import { aTalosLab, type TalosLab, type TalosLabShape } from '../../builders/talos-lab.ts';
import type { TalosTarget } from './target.ts';

/** A lab of simulated machines behind real sockets, as the suite sees it, and what ends it. */
export async function labTarget(shape: TalosLabShape): Promise<{ target: TalosTarget; lab: TalosLab }> {
  const lab = await aTalosLab(shape);
  const machines = lab.lab.world.machines().map(({ name, address, role }) => ({ name, address, role }));
  return { target: { machines, bundle: lab.bundle, credentials: lab.admin }, lab };
}

import { type Context, controlPlanes, isKnown } from '../context.ts';
import type { Blocker } from '../decision.ts';
import { configStageOf } from '../observation.ts';

/** Before a reboot, every control plane's etcd certificates are the stage's; a machine that did not take them stops the roll. */
export function etcdPkiLoaded(context: Context): Blocker | undefined {
  const stage = configStageOf(context.stage);
  if (stage === 'Before') return undefined;
  for (const target of context.targets.filter((each) => each.rolled)) {
    const material = context.material[target.name];
    if (material === undefined) continue;
    for (const machine of controlPlanes(context).filter(isKnown)) {
      const found = target.prove({ pki: machine.talos.value.pki, role: machine.role, stage, material });
      if (found !== undefined) return { reason: 'EtcdPkiNotLoaded', message: `${machine.name}: ${found}` };
    }
  }
  return undefined;
}

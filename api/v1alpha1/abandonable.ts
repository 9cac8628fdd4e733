import type { CaStage } from './stages.ts';
import type { CaTarget } from './targets.ts';

/** Why a rotation may still be abandoned, or why it may not. */
export interface Abandonable {
  readonly abandonable: boolean;
  readonly why: string;
}

/**
 * Whether deleting a CA rotation in this stage abandons it (true) or is held
 * until it is done (false). The table of the design: up to the hand-off always;
 * in Issuing only while neither the Kubernetes nor the etcd CA is a target,
 * because pods have been given the new Kubernetes CA alone by then, and a member
 * of etcd that went back would not trust its neighbours' new leaves.
 */
export function rotationAbandonable(stage: CaStage, targets: readonly CaTarget[]): Abandonable {
  switch (stage) {
    case 'Pending':
    case 'Accepting':
    case 'AwaitingCredentials':
      return { abandonable: true, why: 'the old certificate authorities still issue everything' };
    case 'Issuing': {
      const binding = targets.filter((target) => target === 'kubernetes' || target === 'etcd');
      return binding.length === 0
        ? { abandonable: true, why: 'the old certificate authorities are still accepted everywhere' }
        : {
            abandonable: false,
            why: `certificates of the new ${binding.join(' and ')} CA are in use that cannot be taken back`,
          };
    }
    case 'Dropping':
    case 'Finalizing':
      return { abandonable: false, why: 'machines have stopped accepting the old certificate authorities' };
    case 'Done':
      return { abandonable: false, why: 'the rotation is complete' };
  }
}

import type { CaTarget } from '../../../api/v1alpha1/index.ts';
import type { Fingerprint } from '../../../pkg/pki/index.ts';
import type { SimMachine } from '../machine.ts';
import { prints } from '../material.ts';
import type { Moment } from '../run.ts';

/** Fingerprints of the old and the new CA of a target in this run. */
export interface OldAndNew {
  readonly old: Fingerprint;
  readonly new: Fingerprint;
}

/** What the rotation replaces, and by what. */
export function pairOf({ world }: Moment, target: CaTarget): OldAndNew {
  const print = (generation: number) => world.mint.ca(target, generation).certificate.fingerprint;
  return { old: print(0), new: print(1) };
}

/** What a machine accepts for a target, as its resources say; undefined where the target does not concern it. */
export function acceptedBy(machine: SimMachine, target: CaTarget): readonly Fingerprint[] | undefined {
  const { taken } = machine;
  switch (target) {
    case 'talos':
      return prints(taken.talos.accepted);
    case 'kubernetes':
      return prints(taken.kubelet);
    case 'kubernetes-aggregator':
      return taken.aggregator === undefined ? undefined : prints(taken.aggregator.accepted);
    case 'etcd':
      return taken.etcd === undefined ? undefined : prints(taken.etcd.bundle);
  }
}

/** Who signs what this machine shows for a target; undefined where it shows nothing. */
export function issuerOf(machine: SimMachine, target: CaTarget): Fingerprint | undefined {
  switch (target) {
    case 'talos':
      return machine.api.issuer;
    case 'kubernetes':
      return machine.taken.kubernetes?.issuing.fingerprint;
    case 'kubernetes-aggregator':
      return machine.taken.aggregator?.issuing.fingerprint;
    case 'etcd':
      return machine.plane?.etcdLeaf;
  }
}

/** Whether anybody but us disturbs machines in this run: what follows from that is not our doing. */
export function isDisturbed({ scenario }: Moment): boolean {
  return (scenario.happenings ?? []).some(({ what }) =>
    ['reboot', 'power-loss', 'cut-off', 'etcd-stop', 'join', 'leave', 'alarm', 'clock', 'restore'].includes(what),
  );
}

/** Whether a process of ours was frozen, or stayed away for long: what only it could have done stood still as long. */
export function isFrozen({ faults, scenario }: Moment): boolean {
  return faults.fired.some(({ outcome }) => outcome === 'pause') || scenario.awayMs !== undefined;
}

/** Whether the plan of this run holds any fault. */
export function isFaulted({ scenario, faults }: Moment): boolean {
  return faults.fired.length > 0 || (scenario.happenings ?? []).length > 0;
}

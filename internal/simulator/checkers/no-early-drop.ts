import type { CaTarget } from '../../../api/v1alpha1/index.ts';
import { parseCertificates } from '../../../pkg/pki/index.ts';
import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';
import { acceptedBy, issuerOf, pairOf } from './material.ts';
import { isAnyPlaneSetBack, othersOf } from './others.ts';

/** S5: as soon as one machine does not accept the old CA any more, nobody shows anything of it, and pods are given the new one. */
export function noEarlyDrop(): Checker {
  return {
    property: 'S5 no early drop',
    check(moment) {
      for (const target of moment.scenario.targets) {
        const why = dropped(moment, target);
        if (why !== undefined) return why;
      }
      return undefined;
    },
  };
}

function dropped(moment: Moment, target: CaTarget): string | undefined {
  const { world } = moment;
  const pair = pairOf(moment, target);
  const { setBack } = othersOf(moment);
  const isLate = ({ name, role }: SimMachine): boolean =>
    // A worker shows what the control plane gave it that it asked last.
    !setBack.has(name) && !(role === 'worker' && isAnyPlaneSetBack(moment));
  const first = world.machines().find((machine) => {
    const accepted = acceptedBy(machine, target);
    return accepted !== undefined && !accepted.includes(pair.old);
  });
  if (first === undefined) return undefined;
  const late = world
    .machines()
    .find((machine) => machine.isUp && issuerOf(machine, target) === pair.old && isLate(machine));
  if (late !== undefined)
    return `${first.name} dropped the old ${target} CA while ${late.name} still shows a leaf of it`;
  // Whichever controller manager leads publishes the CA that its machine has.
  if (target !== 'kubernetes' || isAnyPlaneSetBack(moment)) return undefined;
  for (const [namespace, pem] of world.kubernetes.rootCas) {
    const [root] = parsed(pem);
    if (root?.fingerprint !== pair.new)
      return `${first.name} dropped the old Kubernetes CA while ${namespace} publishes it`;
  }
  return undefined;
}

const known = new Map<string, ReturnType<typeof parseCertificates>>();

function parsed(pem: string): ReturnType<typeof parseCertificates> {
  const before = known.get(pem);
  if (before !== undefined) return before;
  const certificates = parseCertificates(pem);
  known.set(pem, certificates);
  return certificates;
}

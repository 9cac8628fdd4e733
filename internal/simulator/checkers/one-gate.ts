import type { SimMachine } from '../machine.ts';
import type { Checker, Moment } from '../run.ts';

/** S11: one machine reboots at a time, and only behind the marker that names it and the boot it leaves. */
export function oneGate(): Checker {
  const rebooting = new Set<string>();
  return {
    property: 'S11 one gate',
    check(moment) {
      for (const machine of moment.world.planes()) {
        if (!machine.isRebooting) rebooting.delete(machine.name);
        else if (!rebooting.has(machine.name)) {
          rebooting.add(machine.name);
          const why = isForeign(moment, machine) ? undefined : unmarked(moment, machine, rebooting);
          if (why !== undefined) return why;
        }
      }
      return undefined;
    },
  };
}

function isForeign({ scenario }: Moment, machine: SimMachine): boolean {
  return (scenario.happenings ?? []).some((each) => 'machine' in each && each.machine === machine.name);
}

function unmarked({ operation }: Moment, machine: SimMachine, rebooting: ReadonlySet<string>): string | undefined {
  const marker = operation?.status.caRotation;
  if (marker?.etcdRebooting !== machine.name) {
    return `${machine.name} reboots for us while the marker names ${marker?.etcdRebooting ?? 'nobody'}`;
  }
  if (marker.etcdRebootBootID !== machine.bootId)
    return `${machine.name} reboots out of another boot than the marker says`;
  const others = [...rebooting].filter((name) => name !== machine.name);
  return others.length > 0 ? `${machine.name} reboots while ${others.join(', ')} is away` : undefined;
}

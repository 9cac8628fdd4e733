import type { SimMachine } from '../machine.ts';
import { prints } from '../material.ts';
import type { Checker, Moment } from '../run.ts';
import { isListening, servingIssuer } from '../transitions.ts';
import { isAnyPlaneSetBack, type Others, othersOf } from './others.ts';

/** S1: whoever must verify a certificate that is shown anywhere accepts its issuer, over a new connection, at every instant. */
export function trustOverlap(): Checker {
  const extension = createExtensionServer();
  return {
    property: 'S1 trust overlap',
    check(moment) {
      const { world } = moment;
      const others = othersOf(moment);
      const up = world.machines().filter((machine) => machine.isUp);
      for (const shown of up) {
        for (const verifier of up) {
          // Whoever was set back has to be told first.
          if (others.setBack.has(shown.name) || others.setBack.has(verifier.name)) continue;
          const why = talosTrust(moment, shown, verifier) ?? kubernetesTrust(moment, shown, verifier);
          if (why !== undefined) return why;
        }
      }
      return extension(moment, others);
    },
  };
}

function talosTrust(moment: Moment, shown: SimMachine, verifier: SimMachine): string | undefined {
  // What a worker shows and accepts is what the control plane gave it that it asked last.
  if (isAnyPlaneSetBack(moment) && (shown.role === 'worker' || verifier.role === 'worker')) return undefined;
  if (prints(verifier.api.accepted).includes(shown.api.issuer)) return undefined;
  return `apid of ${verifier.name} does not accept the CA of what apid of ${shown.name} shows`;
}

function kubernetesTrust({ world }: Moment, shown: SimMachine, verifier: SimMachine): string | undefined {
  if (shown.plane === undefined || !isListening(world, shown) || !verifier.kubelet.isRunning) return undefined;
  if (verifier.kubelet.trust.includes(servingIssuer(shown))) return undefined;
  return `the kubelet of ${verifier.name} does not accept what the API server of ${shown.name} serves`;
}

/** An extension API server re-reads whom it trusts now and then; so long before the settle time is over at the latest. */
const REREAD_MARGIN_MS = 5_000;

function createExtensionServer(): (moment: Moment, others: Others) => string | undefined {
  let trusted: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return ({ world, scenario }, { setBack }) => {
    const settleMs = scenario.settings?.aggregatorSettleMs ?? 120_000;
    const map = world.kubernetes.authentication;
    if (map !== undefined && world.clock.monotonic() - readAt >= settleMs - REREAD_MARGIN_MS) {
      trusted = prints(map.requestheader);
      readAt = world.clock.monotonic();
    }
    for (const machine of world.planes()) {
      const issuer = machine.taken.aggregator?.issuing.fingerprint;
      if (issuer === undefined || !isListening(world, machine) || trusted.includes(issuer)) continue;
      if (setBack.has(machine.name)) continue;
      return `an extension API server that read its trust less than ${settleMs / 1_000} s ago does not accept the front proxy of ${machine.name}`;
    }
    return undefined;
  };
}

import type { Settings, Step } from './context.ts';
import { aggregatorSettled } from './stages/aggregator-settled.ts';
import { authenticationReset } from './stages/authentication-reset.ts';
import { rootCaPublished } from './stages/root-ca-published.ts';
import { talosAccessRenewed } from './stages/talos-access-renewed.ts';
import { workloadsRestarted } from './stages/workloads-restarted.ts';

/** What a settle waits for, and about how long. */
export interface SettleText {
  readonly text: string;
  readonly ms: number;
}

/** Publication took 7 to 20 s after a restart of kube-controller-manager (`measured`). */
const PUBLICATION_MS = 20_000;

/** How the plan words a settle of a target. */
export function settleText(step: Step, settings: Settings): SettleText {
  switch (step) {
    case aggregatorSettled:
      return {
        text: `extension-apiserver-authentication holds the new aggregator CA, and extension API servers had ${inSeconds(settings.aggregatorSettleMs)} to read it`,
        ms: settings.aggregatorSettleMs,
      };
    case rootCaPublished:
      return { text: 'kube-root-ca.crt is the new CA in every namespace', ms: PUBLICATION_MS };
    case talosAccessRenewed:
      return { text: 'the Secrets of talos.dev ServiceAccounts hold certificates of the new Talos CA', ms: 0 };
    case workloadsRestarted:
      return { text: 'workloads that started with the old root CA are restarted, if that was asked for', ms: 0 };
    case authenticationReset:
      return {
        text: `extension-apiserver-authentication holds the new CAs alone, and still does after ${inSeconds(settings.authenticationWatchMs)}`,
        ms: settings.authenticationWatchMs,
      };
    default:
      throw new Error(`the settle ${step.name} has no text`);
  }
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

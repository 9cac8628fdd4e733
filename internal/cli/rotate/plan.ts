import { adviceFor, type CaTarget } from '../../../api/v1alpha1/index.ts';
import { decide } from '../../rotation/decide.ts';
import type { Observation } from '../../rotation/observation.ts';
import type { ClusterView } from '../cluster-view.ts';
import { draftOperation } from '../operations.ts';
import { type RotateRequest, specOf } from './request.ts';

/** A plan, for people and for programs. */
export interface LookedAtPlan {
  readonly text: string;
  readonly value: unknown;
  /** Why the rotation would not start now. */
  readonly blocked: { readonly message: string; readonly advice: string } | undefined;
}

/** Looks at the cluster and says what a rotation would do; only reads. */
export async function lookAtPlan(view: ClusterView, request: RotateRequest, now: number): Promise<LookedAtPlan> {
  const observation = await view.observe(draftOperation(specOf(request), now));
  const decision = decide(observation);
  const isBlocked = decision.kind === 'blocked';
  const value = outlineOf(observation, request.targets);
  return {
    value,
    text: outlineText(value),
    blocked: isBlocked ? { message: decision.message, advice: adviceFor(decision.reason) } : undefined,
  };
}

interface Outline {
  readonly targets: readonly CaTarget[];
  readonly machines: readonly { readonly name: string; readonly role: string; readonly reboots: number }[];
}

function outlineOf({ machines }: Observation, targets: readonly CaTarget[]): Outline {
  const isRolled = targets.includes('etcd');
  return {
    targets,
    machines: machines.map(({ name, role }) => ({ name, role, reboots: isRolled && role === 'controlplane' ? 2 : 0 })),
  };
}

function outlineText({ targets, machines }: Outline): string {
  return [
    `replace: ${targets.join(', ')}`,
    'machines, in this order:',
    ...machines.map(
      ({ name, role, reboots }) => `  ${name} (${role})${reboots > 0 ? `: rebooted ${reboots} times` : ''}`,
    ),
  ].join('\n');
}

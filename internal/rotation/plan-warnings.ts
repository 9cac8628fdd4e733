import type { Fingerprint } from '../../pkg/pki/index.ts';
import { anyTarget, type Context, controlPlanes, isKnown } from './context.ts';
import { short, type TargetDescriptor } from './targets/descriptor.ts';

/** What whoever starts the rotation should know before, the most important first. */
export function warningsOf(context: Context): string[] {
  return [
    ...singleControlPlane(context),
    ...withoutNode(context),
    ...context.targets.flatMap((target) => target.warnings),
    ...context.targets.flatMap((target) => ownersCas(context, target)),
    ...idleHook(context),
    ...context.observation.store.problems,
  ];
}

function idleHook(context: Context): string[] {
  const { evacuationHook } = context.observation.operation.spec;
  if (evacuationHook === undefined || anyTarget(context, (target) => target.rolled)) return [];
  return [`The evacuation hook ${evacuationHook} is not asked for anything: no machine is rebooted.`];
}

function singleControlPlane(context: Context): string[] {
  const [machine, ...others] = controlPlanes(context);
  if (machine === undefined || others.length > 0) return [];
  if (anyTarget(context, (target) => target.rolled)) {
    return [
      `${machine.name} is the only control plane: the Kubernetes API is away while it reboots, and its drain evicts what runs on it.`,
    ];
  }
  if (!anyTarget(context, (target) => target.restartsApiServer)) return [];
  return [`${machine.name} is the only control plane: the Kubernetes API is away while its kube-apiserver restarts.`];
}

/** Who has no Node is cut off. One that answers is refused by a gate; the others cannot be told from those that are gone. */
function withoutNode(context: Context): string[] {
  const { unlisted } = context.observation;
  if (unlisted === undefined || !anyTarget(context, (target) => target.concerns === 'all')) return [];
  const then =
    'A machine without a Node (machine.kubelet.skipNodeRegistration) is told of no stage, and cut off in Dropping.';
  if (!unlisted.known)
    return [`Nobody can say whether there are machines without a Node: ${unlisted.message}. ${then}`];
  const silent = unlisted.value.filter(({ answers }) => !answers);
  if (silent.length === 0) return [];
  const names = silent.map(({ name, address }) => `${name} (${address})`).join(', ');
  return [
    `Discovery names machines that have no Node and do not answer: ${names}. Be sure that they are gone. ${then}`,
  ];
}

/** CAs that the owner accepts besides the rotated ones: they stay, and whoever holds their key stays trusted. */
function ownersCas(context: Context, target: TargetDescriptor): string[] {
  const material = context.material[target.name];
  const found = new Set<Fingerprint>();
  for (const machine of controlPlanes(context).filter(isKnown)) {
    const { pki } = machine.talos.value;
    const ours = [target.issuing(pki), material?.old.fingerprint, material?.new.fingerprint];
    for (const each of target.accepted(pki)) if (!ours.includes(each)) found.add(each);
  }
  if (found.size === 0) return [];
  return [
    `Besides the ${target.title}, machines accept ${[...found].map(short).join(', ')}: what is accepted there stays accepted.`,
  ];
}

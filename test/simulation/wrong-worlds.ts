import { edit } from './mutants/mutant.ts';
import type { Patch } from './patched.ts';

/** A world, or an order of the engine, that is not the real one, and the difference that a recording must show. */
export interface WrongWorld extends Patch {
  readonly shows: RegExp;
}

const TRANSITIONS = 'internal/simulator/transitions.ts';
const KUBERNETES = 'internal/simulator/kubernetes.ts';

/** For a recording of all four CAs on one control plane and a worker. The engine itself gets stuck in some of them; it ends well in the others. */
export const WRONG_WORLDS: readonly WrongWorld[] = [
  {
    name: 'API servers do not restart when the Kubernetes CA changes',
    edits: [edit(TRANSITIONS, '    restartStaticPods(world, machine);\n', '')],
    shows: /ended in Accepting .*kube-apiserver is still container/,
  },
  {
    name: 'a kubelet keeps its certificate when its CA is dropped',
    edits: [
      edit(
        TRANSITIONS,
        'if (kubelet.clientIssuer === undefined || !kubelet.trust.includes(kubelet.clientIssuer)) {',
        'if (kubelet.clientIssuer === undefined) {',
      ),
    ],
    shows: /ended in Dropping .*node cp1 is not ready/,
  },
  {
    name: 'a kubelet does not restart when its CAs change',
    edits: [
      edit(
        TRANSITIONS,
        "    bump(machine, 'KubeletSecrets');\n    restartKubelet(world, machine);\n",
        "    bump(machine, 'KubeletSecrets');\n    machine.kubelet.trust = prints(next.kubelet);\n",
      ),
    ],
    shows: /ended in Accepting .*cp1: its kubelet is still the one that started/,
  },
  {
    name: 'etcd reads its trust again while it runs',
    edits: [
      edit(
        TRANSITIONS,
        "    bump(machine, 'EtcdRoot');\n",
        "    bump(machine, 'EtcdRoot');\n    plane.etcd.pool = prints(next.etcd?.bundle ?? []);\n",
      ),
    ],
    shows: /after apply-config cp1 in Accepting: etcd takes: recorded as before, replayed old new/,
  },
  {
    name: 'etcd goes on with its old certificate until it restarts',
    edits: [edit(TRANSITIONS, '      plane.etcdLeaf = next.etcd.signer;\n', '')],
    shows: /ended in Issuing .*cp1: etcd's certificate is issued by/,
  },
  {
    name: 'the scheduler does not restart with the other static pods',
    edits: [
      edit(
        TRANSITIONS,
        'for (const process of [plane.apiServer, plane.controllerManager, plane.scheduler]) {',
        'for (const process of [plane.apiServer, plane.controllerManager]) {',
      ),
      edit(
        TRANSITIONS,
        'plane === undefined ? [] : [plane.apiServer, plane.controllerManager, plane.scheduler]',
        'plane === undefined ? [] : [plane.apiServer, plane.controllerManager]',
      ),
    ],
    shows: /moved pod:kube-scheduler; not in the replay/,
  },
  {
    name: 'trust in the Talos CA is listed in another order',
    edits: [
      edit(
        'internal/simulator/material.ts',
        'accepted: talos.issuing === undefined ? talos.accepted : [...talos.accepted, talos.issuing],',
        'accepted: talos.issuing === undefined ? talos.accepted : [talos.issuing, ...talos.accepted],',
      ),
    ],
    shows: /talos accepted: recorded new old, replayed old new/,
  },
  {
    name: 'an API server forgets in the published map what it does not trust any more',
    edits: [
      edit(KUBERNETES, 'map.client = union(map.client, client);', 'map.client = [...client];'),
      edit(
        KUBERNETES,
        'map.requestheader = union(map.requestheader, requestheader);',
        'map.requestheader = [...requestheader];',
      ),
      // Often enough to have forgotten before the map is asked for; what is right stays right with it.
      edit('internal/simulator/ticks.ts', 'PUBLISH_TICK_MS = 60_000', 'PUBLISH_TICK_MS = 4_000'),
    ],
    shows: /recorded reset-authentication in Finalizing, replayed/,
  },
  {
    name: 'API servers show extensions the certificate of the old aggregator CA while it is trusted',
    edits: [
      edit(
        'internal/simulator/resources.ts',
        'world.mint.pair(taken.aggregator.issuing.fingerprint,',
        'world.mint.pair((taken.aggregator.accepted.at(-1) ?? taken.aggregator.issuing).fingerprint,',
      ),
    ],
    shows: /after apply-config cp1 in Issuing: front proxy certificate: recorded new, replayed old/,
  },
  {
    name: 'the engine reboots a control plane after Issuing although it serves the new certificate',
    edits: [
      edit(
        'internal/rotation/roll-unless-served.ts',
        'machines.filter((machine) => !servesNewLeaf(context, machine) || trustsTooLittle(context, machine)),',
        'machines,',
      ),
    ],
    shows: /recorded enter-stage in Issuing, replayed cordon cp1 in Issuing/,
  },
  {
    name: 'the engine tells workers first',
    edits: [
      edit(
        'internal/rotation/pass.ts',
        'return passControlPlanes(context) ?? passWorkers(context);',
        'return passWorkers(context) ?? passControlPlanes(context);',
      ),
    ],
    shows: /ended in Accepting .*w1: apid accepts/,
  },
  {
    name: 'the engine replaces the bundle last',
    edits: [
      edit(
        'internal/rotation/stages/finalizing.ts',
        'steps: [replaceBundle, pass, roll, proved, settled, oldCredentialsRefused,',
        'steps: [pass, roll, proved, settled, replaceBundle, oldCredentialsRefused,',
      ),
    ],
    shows: /recorded replace-bundle in Finalizing, replayed reset-authentication in Finalizing/,
  },
];

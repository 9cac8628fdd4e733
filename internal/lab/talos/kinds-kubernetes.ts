import {
  ConfigStatusSpec,
  NodenameSpec,
  NodeStatusSpec,
  SecretsStatusSpec,
  StaticPodSpec,
  StaticPodStatusSpec,
} from '../../../proto/generated/talos/resources/k8s.ts';
import { containerId, type SimMachine } from '../../simulator/index.ts';
import type { BootFacts } from './boot.ts';
import type { Kind, MadeResource } from './resource-store.ts';

/** What Talos knows of Kubernetes on the machine. */
export const KUBERNETES_KINDS: readonly Kind[] = [
  {
    type: 'Nodenames.kubernetes.talos.dev',
    namespace: 'k8s',
    display: 'Nodename',
    columns: [['Nodename', '{.nodename}']],
    list: ({ machine }) => {
      const spec = { nodename: machine.name, hostnameVersion: '1', skipNodeRegistration: false };
      return [{ id: 'nodename', proto: NodenameSpec.encode(spec).finish(), yaml: spec }];
    },
  },
  {
    type: 'NodeStatuses.kubernetes.talos.dev',
    namespace: 'k8s',
    display: 'NodeStatus',
    columns: [
      ['Ready', '{.nodeReady}'],
      ['Unschedulable', '{.unschedulable}'],
    ],
    list({ machine: { name, node } }) {
      if (node === undefined) return [];
      const spec = {
        nodename: name,
        nodeReady: node.ready === 'True',
        unschedulable: node.unschedulable,
        labels: { 'kubernetes.io/hostname': name },
        annotations: {},
      };
      return [
        {
          id: name,
          proto: NodeStatusSpec.encode({ ...spec, podCidRs: [] }).finish(),
          yaml: { ...spec, podCIDRs: [] },
        },
      ];
    },
  },
  {
    type: 'StaticPodStatuses.kubernetes.talos.dev',
    namespace: 'k8s',
    display: 'StaticPodStatus',
    columns: [['Ready', "{.conditions[?(@.type=='Ready')].status}"]],
    list: (facts) => Object.keys(facts.machine.podsReady).map((app) => podStatus(facts, app)),
  },
  {
    type: 'StaticPods.kubernetes.talos.dev',
    namespace: 'k8s',
    display: 'StaticPod',
    list: (facts) =>
      onPlanes(
        facts.machine,
        Object.keys(facts.machine.podsReady).map((app) => staticPod(facts, app)),
      ),
  },
  {
    type: 'EtcdEncryptionConfigs.kubernetes.talos.dev',
    namespace: 'k8s',
    display: 'EtcdEncryptionConfig',
    isSensitive: true,
    list: ({ machine }) =>
      onPlanes(machine, [
        {
          id: 'k8s',
          version: machine.versions.get('EtcdEncryptionConfig') ?? 1n,
          // Nobody reads it typed: it is there for people and for its version.
          proto: Buffer.alloc(0),
          yaml: { configuration: machine.others?.encryption ?? '' },
        },
      ]),
  },
  {
    type: 'SecretStatuses.kubernetes.talos.dev',
    namespace: 'controlplane',
    display: 'SecretStatus',
    columns: [
      ['Ready', '{.ready}'],
      ['Secrets Version', '{.version}'],
    ],
    list: ({ machine }) => {
      const spec = { ready: true, version: String(machine.versions.get('KubernetesSecrets') ?? 1n) };
      const version = machine.versions.get('SecretStatus') ?? 1n;
      return onPlanes(machine, [
        { id: 'static-pods', version, proto: SecretsStatusSpec.encode(spec).finish(), yaml: spec },
      ]);
    },
  },
  {
    type: 'ConfigStatuses.kubernetes.talos.dev',
    namespace: 'controlplane',
    display: 'ConfigStatus',
    columns: [
      ['Ready', '{.ready}'],
      ['Config Version', '{.version}'],
    ],
    list: ({ machine }) => {
      const spec = { ready: true, version: '1' };
      return onPlanes(machine, [{ id: 'static-pods', proto: ConfigStatusSpec.encode(spec).finish(), yaml: spec }]);
    },
  },
];

function onPlanes(machine: SimMachine, made: MadeResource[]): MadeResource[] {
  return machine.plane === undefined ? [] : made;
}

/** The manifest of a static pod: another one where the files that it reads have changed. */
function staticPod({ machine }: BootFacts, app: string): MadeResource {
  const secrets = String(machine.versions.get('KubernetesSecrets') ?? 1n);
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: app,
      namespace: 'kube-system',
      annotations: { 'talos.dev/secrets-version': secrets, 'talos.dev/config-version': '1' },
    },
    spec: { containers: [{ name: app, command: [`/usr/local/bin/${app}`] }] },
  };
  return { id: app, proto: StaticPodSpec.encode({ pod }).finish(), yaml: pod };
}

/** The PodStatus of a static pod, as the kubelet told it last. */
function podStatus({ machine, podStartedAt }: BootFacts, app: string): MadeResource {
  const { plane, podsReady, name } = machine;
  const processes = {
    'kube-apiserver': plane?.apiServer,
    'kube-controller-manager': plane?.controllerManager,
    'kube-scheduler': plane?.scheduler,
  };
  const process = processes[app as keyof typeof processes];
  const ready = podsReady[app] === true ? 'True' : 'False';
  const startedAt = new Date(podStartedAt(app)).toISOString();
  const status = {
    phase: 'Running',
    conditions: [
      { type: 'Initialized', status: 'True' },
      { type: 'Ready', status: ready },
      { type: 'ContainersReady', status: ready },
    ],
    containerStatuses:
      process?.isRunning === true
        ? [
            {
              name: app,
              containerID: `containerd://${containerId(process.instance)}`,
              restartCount: process.instance - 1,
              ready: ready === 'True',
              state: { running: { startedAt } },
            },
          ]
        : [],
  };
  return {
    id: `kube-system/${app}-${name}`,
    proto: StaticPodStatusSpec.encode({ podStatus: status }).finish(),
    yaml: status,
  };
}

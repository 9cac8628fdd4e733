import {
  APIServerConfigSpec,
  BootstrapManifestsConfigSpec,
  ControllerManagerConfigSpec,
  KubeletConfigSpec,
  SchedulerConfigSpec,
} from '../../../proto/generated/talos/resources/k8s.ts';
import type { BootFacts } from './boot.ts';
import type { Kind, MadeResource } from './resource-store.ts';

/** What the components of Kubernetes are started with, as far as `talosctl health` looks at it. */
export const COMPONENT_KINDS: readonly Kind[] = [
  {
    type: 'KubeletConfigs.kubernetes.talos.dev',
    namespace: 'k8s',
    display: 'KubeletConfig',
    isSensitive: true,
    list: () => {
      const spec = { image: imageOf('kubelet'), clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local' };
      return [{ id: 'kubelet', proto: KubeletConfigSpec.encode(spec).finish(), yaml: spec }];
    },
  },
  componentKind('APIServerConfigs', 'APIServerConfig', 'kube-apiserver', ({ machine }) => {
    const localPort = machine.view.apiServerPort ?? 0;
    const spec = {
      image: imageOf('kube-apiserver'),
      controlPlaneEndpoint: machine.view.endpoint ?? '',
      etcdServers: ['https://127.0.0.1:2379'],
      localPort: BigInt(localPort),
      advertisedAddress: machine.address,
    };
    return { proto: APIServerConfigSpec.encode(spec).finish(), yaml: { ...spec, localPort } };
  }),
  componentKind('ControllerManagerConfigs', 'ControllerManagerConfig', 'kube-controller-manager', () => {
    const spec = { enabled: true, image: imageOf('kube-controller-manager') };
    return { proto: ControllerManagerConfigSpec.encode(spec).finish(), yaml: spec };
  }),
  componentKind('SchedulerConfigs', 'SchedulerConfig', 'kube-scheduler', () => {
    const spec = { enabled: true, image: imageOf('kube-scheduler') };
    return { proto: SchedulerConfigSpec.encode(spec).finish(), yaml: spec };
  }),
  componentKind('BootstrapManifestsConfigs', 'BootstrapManifestsConfig', 'manifests', ({ machine }) => {
    // A lab has neither proxy nor DNS, and no network between pods.
    const spec = {
      server: machine.view.endpoint ?? '',
      clusterDomain: 'cluster.local',
      proxyEnabled: false,
      coreDnsEnabled: false,
      cniName: 'custom',
    };
    return { proto: BootstrapManifestsConfigSpec.encode(spec).finish(), yaml: spec };
  }),
];

/** One resource of a control plane in the namespace of its components. */
function componentKind(
  name: string,
  display: string,
  id: string,
  make: (facts: BootFacts) => Pick<MadeResource, 'proto' | 'yaml'>,
): Kind {
  return {
    type: `${name}.kubernetes.talos.dev`,
    namespace: 'controlplane',
    display,
    ...(name === 'APIServerConfigs' ? { isSensitive: true } : {}),
    list: (facts) => (facts.machine.plane === undefined ? [] : [{ id, ...make(facts) }]),
  };
}

function imageOf(component: string): string {
  return component === 'kubelet' ? 'ghcr.io/siderolabs/kubelet:v1.36.3' : `registry.k8s.io/${component}:v1.36.3`;
}

import {
  NamespaceSpec,
  ResourceDefinitionSpec,
  ResourceDefinitionSpec_Sensitivity,
} from '../../../proto/generated/cosi/meta.ts';
import type { Kind } from './resource-store.ts';

/** Namespaces of Talos 1.14 (`runtime/v1alpha2/v1alpha2_state.go`). */
export const NAMESPACES: readonly string[] = [
  ...['cluster', 'cluster-raw', 'config', 'containers', 'controlplane', 'cri', 'etcd', 'files', 'hardware', 'k8s'],
  ...['kubespan', 'meta', 'network', 'network-config', 'perf', 'runtime', 'secrets', 'security', 'storage'],
];

/** What `talosctl get` finds the others by. */
export function metaKinds(kinds: () => readonly Kind[]): readonly Kind[] {
  return [
    {
      type: 'ResourceDefinitions.meta.cosi.dev',
      namespace: 'meta',
      display: 'ResourceDefinition',
      columns: [['Aliases', '{.aliases[:]}']],
      list: () => kinds().map((kind) => ({ id: kind.type.toLowerCase(), ...definitionOf(kind) })),
    },
    {
      type: 'Namespaces.meta.cosi.dev',
      namespace: 'meta',
      display: 'Namespace',
      list: () =>
        NAMESPACES.map((id) => ({
          id,
          proto: NamespaceSpec.encode({ description: '' }).finish(),
          yaml: { description: '' },
        })),
    },
  ];
}

function definitionOf(kind: Kind): { proto: Uint8Array; yaml: unknown } {
  const aliases = aliasesOf(kind.display);
  const parts = kind.type.toLowerCase().split('.');
  const spec = {
    resourceType: kind.type,
    displayType: kind.display,
    defaultNamespace: kind.namespace,
    aliases: [...aliases],
    allAliases: [...parts.slice(0, -1).map((_part, index) => parts.slice(0, index + 1).join('.')), ...aliases],
    printColumns: (kind.columns ?? []).map(([name, jsonPath]) => ({ name, jsonPath })),
    sensitivity:
      kind.isSensitive === true
        ? ResourceDefinitionSpec_Sensitivity.SENSITIVE
        : ResourceDefinitionSpec_Sensitivity.NON_SENSITIVE,
  };
  const yaml = {
    type: spec.resourceType,
    displayType: spec.displayType,
    aliases: spec.aliases,
    printColumns: spec.printColumns,
    defaultNamespace: spec.defaultNamespace,
    ...(kind.isSensitive === true ? { sensitivity: 'sensitive' } : {}),
  };
  return { proto: ResourceDefinitionSpec.encode(spec).finish(), yaml };
}

/** The singular in lower case and its capitals, these also with an s (`pkg/resource/meta/spec`). */
function aliasesOf(display: string): readonly string[] {
  const capitals = display.replaceAll(/[^A-Z]/g, '').toLowerCase();
  if (capitals.length < 2) return [display.toLowerCase()];
  return [display.toLowerCase(), capitals, ...(capitals.endsWith('s') ? [] : [`${capitals}s`])];
}

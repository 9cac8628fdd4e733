import { createHash } from 'node:crypto';
import { type ApiReply, apiVersionOf, groupVersions, RESOURCES, type Resource } from '../../simulator/kube/index.ts';
import type { HttpReply } from './http.ts';
import { REVIEWS } from './reviews.ts';

interface Listed {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly group?: string;
  readonly version?: string;
}

const AGGREGATED = /application\/json\s*;[^,]*\bas=APIGroupDiscoveryList\b/;

/** Answers what clients ask to learn what is served; undefined for paths of another kind. */
export function discovery(path: string, accept: string | undefined): HttpReply | undefined {
  const at = path.length > 1 ? path.replace(/\/$/, '') : path;
  if (at === '/api' || at === '/apis') {
    if (AGGREGATED.test(accept ?? '')) return aggregated(at === '/api');
    return { status: 200, body: at === '/api' ? coreVersions() : groupList() };
  }
  if (at === '/openapi/v3') return { status: 200, body: openapiIndex() };
  const schema = /^\/openapi\/v3\/(api\/v1|apis\/[^/]+\/v1)$/.exec(at)?.[1];
  if (schema !== undefined) return { status: 200, body: openapi(schema) };
  const group = groupVersions().find((each) => at === (each.group === '' ? '/api/v1' : `/apis/${apiVersionOf(each)}`));
  if (group !== undefined) {
    const body = {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: apiVersionOf(group),
      resources: listed(group.group),
    };
    return { status: 200, body };
  }
  const named = groupVersions().find((each) => each.group !== '' && at === `/apis/${each.group}`);
  return named === undefined
    ? undefined
    : { status: 200, body: { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(named) } };
}

/** Build of the API server, as `kubectl version` shows it. */
export function versionReply(gitVersion: string): ApiReply {
  const [major = '', minor = ''] = gitVersion.slice(1).split('.');
  const body = {
    major,
    minor,
    gitVersion,
    platform: 'linux/amd64',
    goVersion: '',
    compiler: '',
    buildDate: '',
    gitCommit: '',
    gitTreeState: '',
  };
  return { status: 200, body };
}

function coreVersions(): object {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
}

function groupList(): object {
  const groups = groupVersions()
    .filter(({ group }) => group !== '')
    .map(groupOf);
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

function groupOf(each: { readonly group: string; readonly version: string }): object {
  const version = { groupVersion: apiVersionOf(each), version: each.version };
  return { name: each.group, versions: [version], preferredVersion: version };
}

/** The verbs of a resource, from what it can do. */
function verbsOf(resource: Resource): string[] {
  return [
    ...(resource.create === undefined ? [] : ['create']),
    ...(resource.remove === undefined ? [] : ['delete']),
    'get',
    'list',
    ...(resource.update === undefined ? [] : ['patch', 'update']),
    'watch',
  ];
}

function listed(group: string): Listed[] {
  const own = RESOURCES.filter((resource) => resource.group === group).flatMap((resource) => [
    {
      name: resource.plural,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: verbsOf(resource),
      shortNames: resource.shortNames,
      ...(resource.categories === undefined ? {} : { categories: resource.categories }),
    },
    ...Object.entries(resource.subresources ?? {}).map(([name, below]) => ({
      name: `${resource.plural}/${name}`,
      singularName: '',
      namespaced: resource.namespaced,
      kind: below.kind,
      verbs: below.verbs,
      ...(below.group === undefined ? {} : { group: below.group, version: below.version ?? 'v1' }),
    })),
  ]);
  const reviews = REVIEWS.filter((review) => review.group === group).map(({ plural, kind }) => ({
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced: false,
    kind,
    verbs: ['create'],
  }));
  return [...own, ...reviews];
}

/** Everything of one root in one reply: what kubectl asks for first. */
function aggregated(isCore: boolean): HttpReply {
  const groups = groupVersions().filter(({ group }) => (group === '') === isCore);
  const items = groups.map(({ group, version }) => ({
    metadata: { name: group, creationTimestamp: null },
    versions: [{ version, freshness: 'Current', resources: aggregatedResources(group, version) }],
  }));
  const body = { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
  const mediaType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  return { status: 200, body, mediaType };
}

function aggregatedResources(group: string, version: string): object[] {
  const all = listed(group);
  return all
    .filter(({ name }) => !name.includes('/'))
    .map((each) => ({
      resource: each.name,
      responseKind: { group, version, kind: each.kind },
      scope: each.namespaced ? 'Namespaced' : 'Cluster',
      singularResource: each.singularName,
      verbs: each.verbs,
      ...(each.shortNames === undefined ? {} : { shortNames: each.shortNames }),
      ...(each.categories === undefined ? {} : { categories: each.categories }),
      subresources: all
        .filter(({ name }) => name.startsWith(`${each.name}/`))
        .map((below) => ({
          subresource: below.name.slice(each.name.length + 1),
          responseKind: { group: below.group ?? group, version: below.version ?? version, kind: below.kind },
          verbs: below.verbs,
        })),
    }));
}

function openapiIndex(): object {
  const paths = groupVersions().map((each) => {
    const path = each.group === '' ? 'api/v1' : `apis/${apiVersionOf(each)}`;
    const hash = createHash('sha256')
      .update(JSON.stringify(openapi(path)))
      .digest('hex')
      .toUpperCase();
    return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }] as const;
  });
  return { paths: Object.fromEntries(paths) };
}

const FIELD_VALIDATION = { name: 'fieldValidation', in: 'query', schema: { type: 'string', uniqueItems: true } };

/** Which kinds can be written. Their fields are not described: kubectl leaves their validation to the server then. */
function openapi(path: string): object {
  const resources = RESOURCES.filter((each) => path === (each.group === '' ? 'api/v1' : `apis/${apiVersionOf(each)}`));
  const paths = resources.map((resource) => {
    const { group, version, kind, plural, namespaced } = resource;
    const operation = { parameters: [FIELD_VALIDATION], 'x-kubernetes-group-version-kind': { group, version, kind } };
    const at = `/${path}/${namespaced ? 'namespaces/{namespace}/' : ''}${plural}/{name}`;
    return [at, { patch: operation, put: operation }] as const;
  });
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'lab' },
    components: { schemas: {} },
    paths: Object.fromEntries(paths),
  };
}
